"""The sides of the sweeps on a CPU: operands in every layout, ridge and PyTorch against fp64."""

import dataclasses
import math
import unittest

import draw

try:
    import torch
except ImportError:
    torch = None

if torch:
    import problems
    import sides
    import sweep_cpu
    import sweep_cuda

SMALL = draw.Limits(bytes=1 << 20, flops=1e7, logits=1 << 17, layouts=True, dtypes=("f32", "tf32", "bf16", "f16"))
# Without attention, whose sides run on a GPU alone.
OPERATIONS = [name for name, o in draw.OPERATIONS.items() if o.kind != "product" and "f32" in o.dtypes]


@unittest.skipUnless(torch, "no PyTorch")
class Sides(unittest.TestCase):
    def bench(self, compile=False):
        return sweep_cuda.Bench("cpu", sweep_cpu.HostClock(1 << 16), compile, 60, 0.01)

    def outputs(self, case):
        bench = self.bench()
        problem, runs = bench.prepare(case, 2)
        known = bench.first_calls(runs)
        takes, outputs = bench.captured(runs, known, 2)
        return problem, known, outputs

    def test_every_side_of_every_operation_is_right(self):
        for operation in OPERATIONS:
            for case in draw.draw(operation, 1, 14, SMALL):
                problem, known, outputs = self.outputs(case)
                for side, error in problem.errors(outputs).items():
                    self.assertLessEqual(error, problem.tolerance, (operation, case.key, side))
                self.assertIn("eager", outputs, (operation, case.key, known))
                if case.dtype == "f32" and not case.offset:
                    self.assertIn("ridge", outputs, (operation, case.key, known))

    def test_an_output_that_is_not_written_or_wrong_is_found(self):
        case = draw.Case("ce_both", "tiny", {"batch": 33, "depth": 17, "classes": 9}, "f32")
        for name in ("loss", "dx", "dw", "db"):
            for value in (math.nan, 0.5):
                problem, _, outputs = self.outputs(case)
                last = outputs["ridge"][name].flatten()
                last[-1] = value
                outputs["ridge"][name] = last.view(outputs["ridge"][name].shape)
                self.assertFalse(problem.errors(outputs)["ridge"] <= problem.tolerance, (name, value))

    def test_sides_that_write_to_the_same_tensors_are_checked_apart(self):
        case, bench = draw.Case("softmax", "tiny", {"rows": 9, "cols": 7}, "f32"), self.bench()
        problem, runs = bench.prepare(case, 2)

        def nothing_right(i):
            problem.sets[i].outputs["y"].fill_(0.5)
            return problem.sets[i].outputs

        runs = {"ridge:wrong": problems.Side(nothing_right), "ridge": runs["ridge"]}
        known = bench.first_calls(runs)
        takes = bench.verified(problem, *bench.captured(runs, known, 2), known)
        self.assertEqual(known["ridge:wrong"]["status"], "wrong")
        self.assertEqual(list(takes), ["ridge"])

    def test_zeros_are_wrong(self):
        for operation in OPERATIONS:
            for case in draw.draw(operation, 2, 14, SMALL):
                problem = problems.problem_of(case, "cpu")
                problem.sets = [problem.make()]
                zeros = {name: torch.zeros_like(x) for name, x in problem.sets[0].outputs.items()}
                alone = case.operation == "ce_backward" and case.shape["classes"] == 1  # its gradients are zero
                error = problem.errors({"zeros": zeros})["zeros"]
                self.assertEqual(error > problem.tolerance, not alone, (operation, case.key, error))

    def test_layouts_are_what_the_case_says(self):
        case = draw.Case("linear_softmax", "tiny", {"batch": 6, "depth": 10, "classes": 5}, "bf16", 3, 1, True)
        x, w, _ = problems.problem_of(case, "cpu").make().inputs
        self.assertEqual((x.stride(), w.stride()), ((13, 1), (1, 10)))
        self.assertEqual((x.storage_offset(), w.storage_offset()), (1, 1))
        self.assertTrue(x.as_strided((6, 3), (13, 1), 1 + 10).isnan().all())

    def test_a_product_has_all_orders_and_strided_rows(self):
        strides_of = {False: {"a": (7, 1), "b": (8, 1)}, True: {"a": (1, 9), "b": (1, 7)}}
        for a, b in draw.ORDERS:
            case = draw.Case("gemm", "tiny", {"m": 6, "n": 5, "k": 4}, "bf16", 3, 1, b, a_column_major=a)
            made = problems.problem_of(case, "cpu").make().inputs
            self.assertEqual([matrix.stride() for matrix in made], [strides_of[a]["a"], strides_of[b]["b"]])
            self.assertEqual([tuple(matrix.shape) for matrix in made], [(6, 4), (4, 5)])

    def test_a_measured_case_has_all_that_the_record_wants(self):
        case = draw.draw("softmax", 1, 8, dataclasses.replace(SMALL, dtypes=("f32",), layouts=False))[3]
        (measured,) = self.bench().measure([case])
        self.assertEqual(measured["sides"]["ridge"]["status"], "ok")
        self.assertGreater(measured["sides"]["eager"]["ratio"], 0)
        self.assertLess(measured["sides"]["eager"]["error"], 1e-5)

    def test_chunks_of_the_reference_cover_all_rows(self):
        case = draw.Case("ce_both", "tiny", {"batch": 50, "depth": 7, "classes": 11}, "f32")
        whole, *_ = self.outputs(case)
        before, problems.CHUNK = problems.CHUNK, 11 * 8
        try:
            parts = {}
            for name, part, want in whole.reference(whole.sets[0]):
                parts.setdefault(name, []).append(want)
        finally:
            problems.CHUNK = before
        for name, part, want in whole.reference(whole.sets[0]):
            joined = torch.cat(parts[name]) if name in ("loss", "lse", "dx") else parts[name][-1]
            self.assertTrue(torch.allclose(joined, want), name)

    def test_sets_exceed_the_cache_three_times(self):
        for size in (1, 10**6, 10**9):
            n = sides.sets_for(size, 5 * 10**7, 64)
            self.assertTrue(n * size > 3 * 5 * 10**7 or n == 64)
            self.assertGreaterEqual(n, 2)
