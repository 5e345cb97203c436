#!/usr/bin/env python3
"""src/peers without ridge: the table, operands in place, and the Triton kernels in Triton's interpreter, on a CPU. What peers compute
on all edge cases is for `ridge verify --peers`."""

import ast
import ctypes
import os
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
os.environ["TRITON_INTERPRET"] = "1"
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "src/peers"
sys.path.insert(0, str(FOLDER))

import tap  # noqa: E402
from ridge_peers import table  # noqa: E402
from ridge_peers.case import Case, Refused  # noqa: E402
from ridge_peers.dltensor import DLTensor, rows_of  # noqa: E402

try:
    import torch
except ImportError:
    torch = None
try:
    import triton
except ImportError:
    triton = None

NO_TORCH, NO_TRITON = "PyTorch is not installed", "Triton is not installed"
FLOAT, BITS = 2, 32


def case(target, name, dim, option=None, dtype="f32"):
    return Case(target, name, dtype, 1, False, dim, option or {}, [], [])


def lies(address, shape, strides):
    """A DLTensor of floats, and what it points to."""
    extents, steps = (ctypes.c_int64 * len(shape))(*shape), (ctypes.c_int64 * len(shape))(*strides)
    pointers = [ctypes.cast(one, ctypes.POINTER(ctypes.c_int64)) for one in (extents, steps)]
    return DLTensor(address, 1, 0, len(shape), FLOAT, BITS, 1, *pointers, 0), extents, steps


class Table(unittest.TestCase):
    def test_names_are_distinct_and_have_a_maker(self):
        names = [(peer.target, name) for peer in table.PEERS for name in peer.names]
        self.assertEqual(len(names), len(set(names)))
        for peer in table.PEERS:
            with self.subTest(peer.target, kind=peer.kind):
                self.assertTrue(peer.idea and callable(peer.make))

    def test_what_rows_name_is_defined(self):
        """Read, not imported: there may be no PyTorch."""
        modules = {"eager": "eager", "compile": "formulas", "triton": "triton_kernels", "liger": "liger"}
        defined = {
            module: {n.name for n in ast.parse((FOLDER / f"ridge_peers/{module}.py").read_text()).body if hasattr(n, "name")}
            for module in modules.values()
        }
        for kind in ("eager", "compile"):
            for target in {p.target for p in table.PEERS if p.kind == kind} - set(table._MATMULS) - {"batched_gemm"}:
                self.assertIn(target, defined[modules[kind]], kind)

    def test_what_is_missing_is_said(self):
        wanted = table.Peer("x", "eager", None, "", plain=False)
        self.assertEqual(bool(wanted.absent("cpu/torch_eager")), torch is None)
        self.assertEqual(table.Peer("x", "eager", None, "", plain=True, missing="why").absent("cpu/torch_eager"), "why")

    def test_rows_follow_strides(self):
        memory = (ctypes.c_float * 12)(*range(12))
        rows = rows_of(lies(ctypes.addressof(memory) + 4, (2, 3), (5, 1))[0])
        self.assertEqual([list(row) for row in rows], [[1, 2, 3], [6, 7, 8]])


@unittest.skipUnless(torch, NO_TORCH)
class Operands(unittest.TestCase):
    def test_views_are_the_memory_itself(self):
        from ridge_peers import case as cases
        from ridge_peers import operands

        memory = (ctypes.c_float * 24)(*range(24))
        described = lies(ctypes.addressof(memory) + 8, (2, 3, 2), (10, 3, 1))
        array = (DLTensor * 1)(described[0])
        view, none = operands.views(ctypes.addressof(array), [cases.Spec("x", "f32", True, [2, 3, 2])])[0], None
        self.assertEqual(view.tolist(), [[[2, 3], [5, 6], [8, 9]], [[12, 13], [15, 16], [18, 19]]])
        view[1, 2, 1] = -1
        self.assertEqual(memory[19], -1)
        self.assertEqual(len(operands._kept), 1)
        view = none  # noqa: F841
        self.assertEqual(len(operands._kept), 0)

    def test_types_of_16_bits_and_empty_ones(self):
        from ridge_peers import case as cases
        from ridge_peers import operands

        kept = torch.arange(8, dtype=torch.bfloat16)
        for dtype, shape in (("bf16", (2, 3)), ("bf16", (0, 3))):
            described = lies(kept.data_ptr(), shape, (4, 1))
            array = (DLTensor * 1)(described[0])
            view = operands.views(ctypes.addressof(array), [cases.Spec("x", dtype, True, list(shape))])[0]
            self.assertEqual((view.dtype, tuple(view.shape)), (torch.bfloat16, shape))
            if view.numel():
                self.assertEqual(view.tolist(), [[0, 1, 2], [4, 5, 6]])


@unittest.skipUnless(torch and triton, NO_TORCH if not torch else NO_TRITON)
class TritonKernels(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)

    def run_peer(self, name, c, ins, out):
        from ridge_peers import triton_kernels

        getattr(triton_kernels, name)(c)(ins, [out])
        return out

    def test_rows(self):
        of = {"fused_l2norm": torch.nn.functional.normalize, "online_softmax": torch.softmax}
        for name, function in of.items():
            for rows, cols in ((1, 1), (3, 15), (5, 257)):
                with self.subTest(name, rows=rows, cols=cols):
                    whole = torch.randn(rows, cols + 3)
                    x, y = whole[:, :cols], torch.full((rows, cols), torch.nan)
                    self.run_peer(name, case(name, f"cuda/{name}", {"rows": rows, "cols": cols}), [x], y)
                    torch.testing.assert_close(y, function(x, dim=-1))

    def test_long_rows_are_refused(self):
        from ridge_peers import triton_kernels

        with self.assertRaisesRegex(Refused, "rows of up to 65536"):
            triton_kernels.fused_l2norm(case("fused_l2norm", "cuda/triton", {"rows": 1, "cols": 65537}))

    def test_products(self):
        for m, n, k, alpha in ((1, 1, 1, 1), (130, 257, 45, 1), (70, 129, 33, -0.5)):
            with self.subTest(m=m, n=n, k=k):
                a, b, c = torch.randn(k, m).t(), torch.randn(k, n), torch.full((m, n), torch.nan)
                self.run_peer("matmul", case("gemm", "cuda/triton", {"m": m, "n": n, "k": k}, {"alpha": alpha}), [a, b], c)
                torch.testing.assert_close(c, alpha * (a @ b), atol=1e-4, rtol=1e-4)

    def test_linear_softmax(self):
        for batch, depth, classes in ((1, 1, 1), (67, 45, 10), (65, 33, 100)):
            with self.subTest(batch=batch, depth=depth, classes=classes):
                x, w, b, p = torch.randn(batch, depth), torch.randn(classes, depth).t(), torch.randn(classes), None
                p = torch.full((batch, classes), torch.nan)
                dim = {"batch": batch, "depth": depth, "classes": classes}
                self.run_peer("linear_softmax", case("linear_softmax", "cuda/triton", dim), [x, w, b], p)
                torch.testing.assert_close(p, torch.softmax(x @ w + b, -1), atol=1e-5, rtol=1e-4)


if __name__ == "__main__":
    sys.exit(not tap.run(tap.tests_of([sys.modules[__name__]])))
