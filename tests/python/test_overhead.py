"""bench/overhead.py on a CPU: a table with every side of every case."""
import contextlib
import io
import json
import pathlib
import tempfile
import unittest

try:
    import torch
except ImportError:
    torch = None
else:
    import overhead


@unittest.skipUnless(torch, "no PyTorch")
class Overhead(unittest.TestCase):
    def test_every_case_has_its_sides(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
            path = pathlib.Path(folder) / "rows.json"
            overhead.main(["--rounds", "1", "--json", str(path)])
            record = json.loads(path.read_text())
        self.assertEqual([row["operation"] for row in record["rows"]], list(overhead.CASES))
        compared = sum("not above in" in line for line in said.getvalue().splitlines())
        self.assertEqual(compared, len(overhead.PAIRS) - 1)  # without Liger
        self.assertEqual(len(said.getvalue().splitlines()), 3 + len(overhead.CASES) + 1 + compared)
        sides = {side + more for side in ("empty", "custom", "ridge", "eager") for more in ("", ", gradient")} | {"library"}
        for row in record["rows"]:
            self.assertEqual(set(row["us"]), sides)
            self.assertTrue(all(us > 0 for us in row["us"].values()))

    def test_cases_are_the_same_operation(self):
        for name, (make, eager, _) in overhead.CASES.items():
            with self.subTest(name):
                operands = make()
                got, want = getattr(overhead.ridge.torch, name)(*operands), eager(*operands)
                if isinstance(got, tuple) and not isinstance(want, tuple):
                    got = got[0]  # without the log-sum-exp
                torch.testing.assert_close(got, want, atol=1e-4, rtol=1e-4)
