"""Ways that were measured, and the one that ran last: files of `ridge tune`, and last_way."""
import pathlib
import tempfile
import unittest

import ridge
from ridge import _context
from tensors import StandIn


class MeasuredWays(unittest.TestCase):
    def use(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "tuned"
            path.write_text(text)
            ridge.Context(1).use_tuned(path)

    def test_a_file_is_read(self):
        self.use("ridge-tuned 1\nsm90x132 online_softmax cuda/optimized rows_warp f32 64x100 0 -\n")

    def test_a_damaged_file_is_told(self):
        with self.assertRaisesRegex(ridge.Error, "tuned:2: a line has eight fields"):
            self.use("ridge-tuned 1\nsm90x132\n")
        with self.assertRaisesRegex(ridge.Error, "No such file"):
            ridge.Context(1).use_tuned("/nowhere/tuned")

    def test_nothing_has_run(self):
        self.assertIsNone(ridge.Context(1).last_way)

    def way_of_linear_softmax(self, context):
        kind = StandIn()
        y = kind.empty((7, 4))
        context.apply("linear_softmax", [kind.empty((7, 10)), kind.empty((10, 4)), kind.empty((4,))], [y])
        self.assertAlmostEqual(kind.read(y, (6, 3)), 0.25, delta=1e-6)
        return context.last_way

    def test_the_last_way_is_that_of_the_last_call(self):
        context, kind = ridge.Context(1), StandIn()
        self.assertIn(self.way_of_linear_softmax(context), ("wide", "fused", "product"))
        context.apply("online_softmax", [kind.empty((3, 5))], [kind.empty((3, 5))])
        self.assertIsNone(context.last_way)  # it has none on a CPU

    def test_the_shared_context_says_it_too(self):
        kind = StandIn()
        x, w, b = kind.empty((7, 10)), kind.empty((10, 4)), kind.empty((4,))
        ridge.linear_softmax(x, w, b)
        self.assertIn(_context._default.last_way, ("wide", "fused", "product"))

    def test_a_measured_way_runs(self):
        context, isas = ridge.Context(1), ("scalar", "avx2", "avx512", "neon")
        with tempfile.TemporaryDirectory() as folder:
            for way in ("fused", "product", "fused"):
                path = pathlib.Path(folder) / "tuned"
                lines = [f"{isa}x1 linear_softmax cpu/optimized {way} f32 7x10x4 0 -\n" for isa in isas]
                path.write_text("ridge-tuned 1\n" + "".join(lines))
                context.use_tuned(path)
                self.assertEqual(self.way_of_linear_softmax(context), way)
