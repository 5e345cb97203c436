"""What the sweeps do without PyTorch: shapes, statistics, tables, records, resuming, the order of timing, ridge's
JSON."""

import collections
import contextlib
import functools
import io
import json
import math
import pathlib
import tempfile
import types
import unittest

import draw
import report
import sweep
import sweep_cpu
import sweep_cuda

GPU_OPERATIONS = [name for name, operation in draw.OPERATIONS.items() if operation.kind != "product"]


SEEDS = range(4)


@functools.cache
def forty(operation, seed):
    return draw.draw(operation, seed, 40)


def kind_of(operation):
    return draw.KINDS[draw.OPERATIONS[operation].kind]


class Generator(unittest.TestCase):
    def test_is_splitmix64(self):
        generator = draw.Generator()
        generator.state = 1234567
        self.assertEqual(
            [generator.bits() for _ in range(3)], [6457827717110365317, 3203168211198807973, 9817491932198370423]
        )

    def test_below_stays_below_and_comes_to_all(self):
        generator = draw.Generator("below")
        self.assertEqual({generator.below(5) for _ in range(200)}, set(range(5)))

    def test_log_uniform_gives_each_octave_its_share(self):
        generator, n = draw.Generator("octaves"), 4000
        octaves = collections.Counter(generator.log_uniform(1, (1 << 10) - 1).bit_length() for _ in range(n))
        self.assertEqual(set(octaves), set(range(1, 11)))
        for count in octaves.values():  # n / 10 = 400 expected, a standard deviation of 19
            self.assertAlmostEqual(count, n / 10, delta=100)

    def test_log_uniform_reaches_both_ends(self):
        generator = draw.Generator("ends")
        drawn = {generator.log_uniform(3, 5) for _ in range(200)}
        self.assertEqual(drawn, {3, 4, 5})
        self.assertEqual(generator.log_uniform(7, 7), 7)

    def test_a_deck_deals_all_cards_before_any_comes_again(self):
        deck = draw.Deck(draw.Generator("deck"), "abcde")
        for _ in range(5):
            self.assertEqual(sorted(deck.deal() for _ in range(5)), list("abcde"))


class Draw(unittest.TestCase):
    def test_the_same_seed_draws_the_same(self):
        for operation in draw.OPERATIONS:
            self.assertEqual(draw.draw(operation, 5, 20), draw.draw(operation, 5, 20))

    def test_what_a_seed_draws_does_not_change(self):
        """Golden: results of other machines and other days are comparable only as long as this holds."""
        keys = {name: [case.key for case in draw.draw(name, 1, 3)] for name in GOLDEN}
        self.assertEqual(keys, GOLDEN)

    def test_other_seeds_and_operations_draw_others(self):
        keys = [
            tuple(case.key for case in draw.draw(*of, 40)) for of in (("softmax", 1), ("softmax", 2), ("l2norm", 1))
        ]
        self.assertEqual(len(set(keys)), 3)

    def test_more_cases_begin_with_the_same(self):
        self.assertEqual(draw.draw("multihead", 3, 60)[:40], forty("multihead", 3))

    def test_no_case_comes_twice(self):
        for operation in draw.OPERATIONS:
            keys = [case.key for case in draw.draw(operation, 11, 80)]
            self.assertEqual(len(set(keys)), 80)

    def test_every_card_comes_in_40(self):
        for operation in GPU_OPERATIONS:
            for seed in SEEDS:
                cases = forty(operation, seed)
                strata = collections.Counter(case.stratum for case in cases)
                self.assertEqual(set(strata), set(kind_of(operation).strata))
                self.assertGreaterEqual(min(strata.values()), 4)
                self.assertEqual({case.dtype for case in cases}, set(draw.OPERATIONS[operation].dtypes))
                aligned = draw.OPERATIONS[operation].aligned
                self.assertEqual({case.offset for case in cases}, {0} if aligned else {0, 1})
                self.assertTrue(any(case.pad and not case.offset for case in cases))
                self.assertEqual(any(case.pad and case.offset for case in cases), not aligned)
                self.assertTrue(all(case.pad % 8 == 0 for case in cases) or not aligned)
                self.assertEqual({case.mask for case in cases}, set(kind_of(operation).decks.get("mask", ["full"])))
                self.assertTrue(any(not case.pad and not case.offset for case in cases))
                self.assertEqual(
                    {case.column_major for case in cases}, {False, draw.OPERATIONS[operation].column_major}
                )
                orders = {(case.a_column_major, case.column_major) for case in cases}
                self.assertLessEqual(orders, set(draw.OPERATIONS[operation].majors))
                self.assertEqual(len(orders) == 4, operation == "gemm")
                labels = {"i32", "i64"} if operation in draw.CROSS_ENTROPY else {"i32"}
                self.assertEqual({case.labels for case in cases}, labels)

    def test_odd_even_and_round_extents_come(self):
        for operation in GPU_OPERATIONS:
            for seed in SEEDS:
                cases = forty(operation, seed)
                for name in {"depth", "classes", "cols", "m", "n", "k"} & set(kind_of(operation).dims):
                    extents = [case.shape[name] for case in cases if case.shape[name] > 64]
                    self.assertTrue(any(n % 2 == 1 for n in extents), (operation, seed, name))
                    self.assertTrue(any(n % 8 == 0 for n in extents), (operation, seed, name))
                    self.assertTrue(any(n & (n - 1) == 0 for n in extents), (operation, seed, name))

    def test_bounds_are_kept(self):
        for limits in (draw.GPU, draw.CPU):
            for operation in (name for name in draw.OPERATIONS if draw.dtypes_of(name, limits)):
                for case in draw.draw(operation, 4, 60, limits):
                    self.assertLessEqual(case.bytes, limits.bytes)
                    self.assertLessEqual(case.flops, limits.flops)
                    self.assertLessEqual(kind_of(operation).logits(case.shape), limits.logits)
                    self.assertGreaterEqual(min(case.shape.values()), 1)
                    self.assertLessEqual(max(case.shape.values()), 1 << 20)
                    for name, ends in zip(case.shape, kind_of(operation).strata[case.stratum]):
                        if ends in case.shape:
                            self.assertEqual(case.shape[name], case.shape[ends])
                        elif isinstance(ends, str):
                            self.assertIn(case.shape[name], kind_of(operation).decks[ends])
                        else:
                            self.assertLessEqual(case.shape[name], ends[1])

    def test_short_rows_have_8_to_512_columns(self):
        short = [case for case in draw.draw("l2norm", 2, 70) if case.stratum == "short rows"]
        self.assertTrue(all(8 <= case.shape["cols"] <= 512 for case in short))

    def test_wide_rows_reach_beyond_2_17(self):
        self.assertGreater(max(case.shape["cols"] for seed in SEEDS for case in forty("softmax", seed)), 1 << 17)

    def test_sizes_of_operands(self):
        case = draw.Case("ce_both", "middle", {"batch": 100, "depth": 10, "classes": 7}, "bf16")
        self.assertEqual(case.bytes, 2 * (100 * 10 + 10 * 7) * 2 + 4 * (7 + 400))
        self.assertEqual(case.flops, 3 * 2 * 100 * 10 * 7)
        case = draw.Case("multihead", "middle", {"batch": 3, "heads": 2, "depth": 5, "classes": 7}, "f32")
        self.assertEqual(case.bytes, 4 * (3 * 5 + 2 * 5 * 7 + 2 * 7 + 3 * 2 * 7))
        case = draw.Case("gemm", "middle", {"m": 3, "n": 5, "k": 7}, "f16")
        self.assertEqual((case.bytes, case.flops), (2 * (3 * 7 + 7 * 5 + 3 * 5), 2 * 3 * 5 * 7))

    def test_a_cpu_takes_dense_cases(self):
        for case in draw.draw("linear_softmax", 9, 60, draw.CPU):
            self.assertEqual((case.pad, case.offset, case.column_major, case.dtype), (0, 0, False, "f32"))

    def test_types_can_be_chosen(self):
        self.assertEqual({case.dtype for case in draw.draw("softmax", 1, 20, dtypes=["bf16"])}, {"bf16"})
        with self.assertRaises(ValueError):
            draw.draw("softmax", 1, 20, dtypes=["tf32"])

    def test_keys_say_all(self):
        case = draw.Case("ce_both", "tiny", {"batch": 2, "depth": 3, "classes": 4}, "f16", 8, 1, True, "i64")
        self.assertEqual(case.key, "2x3x4/f16,pad=8,base+1,w^T,i64")
        case = draw.Case("gemm", "tiny", {"m": 2, "n": 3, "k": 4}, "bf16", 3, 0, True, a_column_major=True)
        self.assertEqual(case.key, "2x3x4/bf16,pad=3,a^T,b^T")


GOLDEN = {
    "attention": ["3x7x3x2889x2889x128/bf16,pad=8,causal", "10x16x1x105x105x64/f16,window", "16x2x2x4x512x80/f16,pad=8,causal"],
    "softmax": ["16x144325/bf16", "6863x7701/f32,pad=3", "128x131072/f16"],
    "linear_softmax": ["2940x2044x46090/f16,w^T", "1x1x27/f32,pad=1", "15104x6816x1176/tf32"],
    "gemm": ["25x30795x11965/bf16,pad=8", "8192x8192x8/f32,pad=64,base+1,b^T", "326x20x31880/f16,base+1,a^T"],
    "ce_both": ["65536x8x64/bf16,w^T,i64", "472x176x16008/f16,base+1", "3887x141x21/f32"],
}


def result(key, ridge, dtype="f32", operation="softmax", threads=None, way=None, **ratios):
    """A result in which ridge took `ridge` µs and the peers `ratios` times that."""
    sides = {"ridge": {"status": "ok", "median_us": ridge}}
    sides.update({n: {"status": "ok", "median_us": r * ridge, "ratio": r} for n, r in ratios.items()})
    return {"operation": operation, "key": key, "dtype": dtype, "threads": threads, "way": way, "sides": sides}


class Statistics(unittest.TestCase):
    def test_geometric_mean(self):
        self.assertAlmostEqual(report.geometric_mean([0.5, 2.0, 8.0]), 2.0)
        self.assertIsNone(report.geometric_mean([]))

    def test_paired_ratio_is_of_rounds(self):
        # The clock drops to half in the second of three rounds: every pair sees it on both sides.
        ridge, peer = [1, 1, 2, 2, 1, 1], [1.5, 1.5, 3, 3, 1.5, 1.5]
        self.assertAlmostEqual(report.paired_ratio(peer, ridge), 1.5)
        # A linear drift within a round cancels: A B B A.
        self.assertAlmostEqual(report.paired_ratio([1.1, 1.2], [1.0, 1.3]), 1.0)

    def test_the_best_peer_is_the_nearest(self):
        self.assertEqual(report.best_peer(result("a", 2, eager=3.0, compile=1.2)), ("compile", 1.2))

    def test_what_is_wrong_aside_or_absent_is_no_best_peer(self):
        r = result("a", 2, eager=3.0, compile=0.1, python=0.2)
        r["sides"]["compile"]["status"] = "wrong"
        r["sides"]["python"]["aside"] = True
        self.assertEqual(report.best_peer(r), ("eager", 3.0))
        r["sides"]["ridge"]["status"] = "wrong"
        self.assertIsNone(report.best_peer(r))

    def test_ways_are_no_peers_and_say_what_the_choice_cost(self):
        ways = {"ridge:rows_warp": 0.8, "ridge:rows_lanes": 1.1}
        results = [result("a", 10.0, eager=3.0, **ways, way="rows_lanes"), result("b", 1.0, eager=2.0)]
        self.assertEqual(report.best_peer(results[0])[0], "eager")
        s = report.summarize(results)
        self.assertEqual(set(s["by_peer"]), {"eager"})
        self.assertEqual((s["best_way"]["n"], s["worst_choices"]), (1, ["a"]))
        self.assertAlmostEqual(s["best_way"]["worst"], 0.8)
        lines = report.markdown("softmax", results)
        self.assertIn("Best way ÷ chosen way, 1 shapes: geometric mean 0.800, worst 0.80.", lines)
        self.assertIn("| a | 0.80 | 10 | rows_lanes | rows_warp |", lines)
        self.assertFalse(any("Best way" in line for line in report.markdown("softmax", results[1:])))

    def test_a_way_that_is_wrong_ends_with_1(self):
        r = result("a", 1, eager=2.0, **{"ridge:rows_warp": 1.0})
        self.assertEqual(sweep.exit_status({"results": [r]}), 0)
        r["sides"]["ridge:rows_warp"]["status"] = "wrong"
        self.assertEqual(sweep.exit_status({"results": [r]}), 1)

    def test_summary(self):
        results = [
            result("a", 1, eager=2.0, compile=1.0),
            result("b", 1, dtype="bf16", eager=4.0),
            result("c", 1, dtype="bf16", eager=0.5, compile=3.0),
            {
                **result("d", 1),
                "sides": {
                    "ridge": {"status": "refused", "reason": "no f16"},
                    "eager": {"status": "ok", "median_us": 1},
                },
            },
            result("e", 1),
        ]
        s = report.summarize(results)
        self.assertEqual((s["shapes"], s["measured"], s["n"]), (5, 3, 3))
        self.assertAlmostEqual(s["geometric_mean"], (1.0 * 4.0 * 0.5) ** (1 / 3))
        self.assertEqual(s["worst"], 0.5)
        self.assertAlmostEqual(s["ahead"], 1 / 3)
        self.assertEqual(s["by_dtype"]["bf16"]["n"], 2)
        self.assertAlmostEqual(s["by_peer"]["compile"]["geometric_mean"], math.sqrt(3))
        self.assertEqual(s["worst_cases"], ["c", "a", "b"])
        self.assertEqual(s["ridge_without_time"], {"d": "refused: no f16"})
        self.assertEqual(s["no_peer"], ["e"])


class Tables(unittest.TestCase):
    def test_the_ten_worst_with_their_way(self):
        results = [
            result(f"{i}x{i}/f32", 10.0, eager=1 + i / 10, way="rows_warp" if i == 3 else None) for i in range(1, 16)
        ]
        lines = report.markdown("softmax", results)
        self.assertEqual(lines[0], "### softmax: 15 of 15 shapes measured")
        worst = [line for line in lines[lines.index("The 10 worst:") + 4 :] if line.startswith("|")]
        self.assertEqual(len(worst), 10)
        self.assertEqual(worst[0], "| 1x1/f32 | 1.10 | 10 | eager | 11 | – |")
        self.assertEqual(worst[2], "| 3x3/f32 | 1.30 | 10 | eager | 13 | rows_warp |")

    def test_a_machine_that_was_not_quiet(self):
        lines = report.markdown("product", [{**result(str(i), 1, onednn=2.0), "findings": ["load"]} for i in range(3)])
        self.assertIn("Measure again on a quiet machine; `ridge run` found: load (3 shapes).", lines)
        self.assertFalse(any("quiet" in line for line in report.markdown("product", [result("a", 1, onednn=2.0)])))

    def test_nothing_measured(self):
        failed = {**result("a", 1), "sides": {"ridge": {"status": "failed", "reason": "GPU | gone"}}}
        lines = report.markdown("softmax", [failed])
        self.assertIn("| best peer | 0 | – | – | – |", lines)
        self.assertIn("- ridge has no time, a: failed: GPU | gone", lines)

    def test_columns_of_all_rows_are_as_many_as_the_heads(self):
        lines = report.markdown("softmax", [result("a|b", 1, eager=2.0)])
        for line in lines:
            if line.startswith("|"):
                self.assertIn(line.replace("\\|", "").count("|"), (6, 7))


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "rows.json"

    def test_a_file_that_cannot_be_written_leaves_the_old_one(self):
        report.write_whole(self.path, "old")
        with self.assertRaises(UnicodeEncodeError):
            report.write_whole(self.path, "x" * 100000 + "\ud800")
        self.assertEqual(self.path.read_text(), "old")
        self.assertEqual([p.name for p in self.folder.iterdir()], ["rows.json"])

    def test_json_has_no_nan(self):
        report.write_record(self.path, {"a": [math.nan, 1.5, (math.inf,)], "b": "–"})
        self.assertEqual(json.loads(self.path.read_text()), {"a": [None, 1.5, [None]], "b": "–"})

    def test_what_is_no_record_is_refused(self):
        for text in ("", "[]", "{}", '{"schema": "ridge-run/1"}', "{"):
            self.path.write_text(text)
            with self.assertRaises(report.Mismatch):
                report.read_record(self.path, {})
        with self.assertRaises(report.Mismatch):
            report.read_record(self.folder / "absent", {})

    def test_a_record_of_another_seed_or_machine_is_refused(self):
        report.write_record(self.path, {"schema": report.SCHEMA, "settings": {"seed": 1}, "machine": {"device": "a"}})
        report.read_record(self.path, {"settings.seed": 1, "machine": {"device": "a"}})
        for other in ({"settings.seed": 2}, {"machine": {"device": "b"}}, {"settings.absent": 1}):
            with self.assertRaises(report.Mismatch) as caught:
                report.read_record(self.path, other)
            self.assertIn(next(iter(other)), str(caught.exception))


class FakeClock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def take(self, name, seconds, log):
        def call():
            self.now += seconds
            log.append(name)
            return seconds * 1e6

        return call


class Timing(unittest.TestCase):
    def samples(self, seconds, **costs):
        clock, self.log = FakeClock(), []
        takes = {name: clock.take(name, cost, self.log) for name, cost in costs.items()}
        return sweep.interleave(takes, seconds, least=3, most=6, clock=clock)

    def test_rounds_go_forward_and_backward_after_a_warm_up(self):
        self.samples(0, a=1, b=1, c=1)
        self.assertEqual("".join(self.log), "abc" + "abccba" * 3)

    def test_rounds_end_by_time_or_number(self):
        self.assertEqual(len(self.samples(0.0, a=1.0)["a"]), 2 * 3)
        self.assertEqual(len(self.samples(1e9, a=1.0)["a"]), 2 * 6)
        self.assertEqual(len(self.samples(7.5, a=1.0)["a"]), 2 * 4)  # the fourth begins at 6 s, a fifth would at 8

    def test_sides_get_medians_and_paired_ratios(self):
        samples = self.samples(0, ridge=1e-6, eager=3e-6)
        sides = sweep.timed_sides(
            samples, {"ridge": {"how": "graph"}, "eager": {}, "quack": {"status": "failed", "reason": "no"}}
        )
        self.assertEqual(sides["ridge"]["median_us"], 1.0)
        self.assertEqual((sides["ridge"]["status"], sides["ridge"]["how"]), ("ok", "graph"))
        self.assertAlmostEqual(sides["eager"]["ratio"], 3.0)
        self.assertNotIn("ratio", sides["ridge"])
        self.assertEqual(sides["quack"], {"status": "failed", "reason": "no"})

    def test_without_ridge_there_is_no_ratio(self):
        sides = sweep.timed_sides({"eager": [1.0, 1.0]}, {"eager": {}, "ridge": {"status": "refused"}})
        self.assertNotIn("ratio", sides["eager"])

    def test_peers_of_a_shape_that_ridge_refuses_are_untimed_and_the_tables_stand(self):
        sides = sweep.timed_sides({}, {"ridge": {"status": "refused", "reason": "f32 only"}, "eager": {"how": "graph"}})
        self.assertEqual(sides["eager"]["status"], "untimed")
        lines = report.markdown("multihead", [{**result("a", 1), "sides": sides}])
        self.assertIn("- ridge has no time, a: refused: f32 only", lines)

    def test_a_gpu_that_is_gone_blames_a_peer_that_failed_before(self):
        case = draw.draw("softmax", 1, 1)[0]
        (result,) = sweep_cuda.Bench.gone(
            None, case, {"ridge": {"first_s": 1}, "quack": {"status": "failed", "reason": "x"}}
        )
        self.assertEqual({n: s["status"] for n, s in result["sides"].items()}, {"ridge": "untimed", "quack": "failed"})
        (result,) = sweep_cuda.Bench.gone(None, case, {"ridge": {"first_s": 1}})
        self.assertEqual(result["sides"]["ridge"]["status"], "failed")
        (result,) = sweep_cuda.Bench.gone(None, case, {})
        self.assertEqual(result["sides"]["ridge"]["status"], "failed")


class Backend:
    """Times that follow from the shape; fails, refuses or is wrong where told."""

    def __init__(self, broken=None, fatal_at=None):
        self.broken, self.fatal_at, self.measured = broken or {}, fatal_at, []

    def __call__(self, cases):
        return [self.one(case) for case in cases]

    def one(self, case):
        self.measured.append(case.key)
        if len(self.measured) == self.fatal_at:
            raise sweep.Fatal("gone", [sweep.failed_case(case, RuntimeError("gone"))])
        status = self.broken.get(case.key)
        if status == "raises":
            raise RuntimeError("out of\nluck")
        if status:
            return sweep.result_of(case, {"ridge": {"status": status, "reason": "said so"}})
        us = 1.0 + case.bytes / 4e6
        samples = {"ridge": [us] * 10, "eager": [2 * us] * 10, "compile": [1.25 * us] * 10}
        return sweep.result_of(case, sweep.timed_sides(samples, {name: {} for name in samples}), way="tiles")


class Loop(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "rows.json"
        self.cases = draw.draw("softmax", 1, 12)

    def sweep(self, backend, resume=None, operations=None, seed=1, batch=1):
        options = types.SimpleNamespace(json=None if resume else str(self.path), resume=resume and str(self.path))
        made = sweep.Sweep("fake", options, {"seed": seed}, {"device": "none"})
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
            try:
                sweep.run(made, operations or [("softmax", self.cases)], backend, batch=batch)
            finally:
                self.printed = out.getvalue()
        return made.record

    def saved(self):
        return json.loads(self.path.read_text())

    def test_record_and_table(self):
        record = self.sweep(Backend())
        self.assertEqual(self.saved()["results"], record["results"])
        self.assertEqual([r["key"] for r in record["results"]], [case.key for case in self.cases])
        self.assertAlmostEqual(record["summaries"]["softmax"]["geometric_mean"], 1.25)
        self.assertEqual(record["summaries"]["softmax"]["ahead"], 1.0)
        self.assertEqual(len(record["results"][0]["sides"]["eager"]["samples_us"]), 10)
        self.assertIn("| best peer | 12 | 1.25 | 1.25 | 100 % |", self.printed)
        self.assertIn("| tiles |", self.printed)
        self.assertEqual(sweep.exit_status(record), 0)

    def test_what_raises_is_recorded_and_the_rest_measured(self):
        record = self.sweep(Backend({self.cases[2].key: "raises"}))
        self.assertEqual(len(record["results"]), 12)
        self.assertEqual(record["results"][2]["sides"]["ridge"], {"status": "failed", "reason": "RuntimeError: out of"})
        self.assertEqual(record["summaries"]["softmax"]["measured"], 11)
        self.assertEqual(sweep.exit_status(record), 1)

    def test_wrong_ends_with_1_and_refused_with_0(self):
        self.assertEqual(sweep.exit_status(self.sweep(Backend({self.cases[0].key: "wrong"}))), 1)
        self.assertEqual(sweep.exit_status(self.sweep(Backend({self.cases[0].key: "refused"}))), 0)

    def test_resume_measures_what_is_left(self):
        first = Backend(fatal_at=5)
        with self.assertRaises(sweep.Fatal):
            self.sweep(first)
        self.assertEqual(len(self.saved()["results"]), 5)  # the one at fault is not tried again
        second = Backend()
        record = self.sweep(second, resume=True)
        self.assertEqual(second.measured, [case.key for case in self.cases[5:]])
        self.assertEqual(len(record["results"]), 12)
        third = Backend()
        self.sweep(third, resume=True)
        self.assertEqual(third.measured, [])
        self.assertIn("### softmax: 11 of 12", self.printed)

    def test_resume_adds_operations(self):
        self.sweep(Backend())
        more = draw.draw("l2norm", 1, 5)
        record = self.sweep(Backend(), resume=True, operations=[("l2norm", more)])
        self.assertEqual((len(record["results"]), set(record["summaries"])), (17, {"softmax", "l2norm"}))

    def test_resume_refuses_another_seed(self):
        self.sweep(Backend())
        with self.assertRaises(report.Mismatch):
            self.sweep(Backend(), resume=True, seed=2)

    def test_batches(self):
        sizes = []

        def measure(cases):
            sizes.append(len(cases))
            return Backend()(cases)

        self.sweep(measure, batch=5)
        self.assertEqual(sizes, [5, 5, 2])


class Commands(unittest.TestCase):
    def said_by(self, main, *arguments):
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            try:
                status = main(list(arguments))
            except SystemExit as end:
                status = end.code
        return status, out.getvalue(), err.getvalue()

    def test_help_has_examples(self):
        for main, name in ((sweep_cuda.main, "bench/sweep_cuda.py"), (sweep_cpu.main, "bench/sweep_cpu.py")):
            status, out, _ = self.said_by(main, "--help")
            self.assertEqual(status, 0)
            self.assertIn(f"{name} --seed 1", out)

    def test_dry_run_prints_the_shapes(self):
        status, out, _ = self.said_by(sweep_cuda.main, "--seed", "1", "--op", "softmax", "--count", "7", "--dry-run")
        self.assertEqual(status, 0)
        self.assertEqual(
            [line.split()[1] for line in out.splitlines()], [case.key for case in draw.draw("softmax", 1, 7)]
        )
        status, out, _ = self.said_by(sweep_cpu.main, "--seed", "1", "--op", "product", "--count", "7", "--dry-run")
        self.assertEqual((status, len(out.splitlines())), (0, 7))

    def test_bad_usage(self):
        for arguments in (("--seed", "1", "--op", "nothing"), (), ("--seed", "1", "--count", "0"), ("--seed", "x")):
            self.assertEqual(self.said_by(sweep_cuda.main, *arguments)[0], 2)
        self.assertEqual(self.said_by(sweep_cuda.main, "--seed", "1", "--op", "softmax", "--dtype", "tf32")[0], 2)

    def test_without_a_command_to_run(self):
        status, _, err = self.said_by(sweep_cpu.main, "--seed", "1", "--ridge", "/absent/ridge")
        self.assertEqual(status, 3)
        self.assertIn("/absent/ridge", err)


class RidgeRun(unittest.TestCase):
    """The JSON of `ridge run` as sides."""

    case = draw.Case("ce_both", "tiny", {"batch": 64, "depth": 128, "classes": 10}, "f32")

    def run_of(self, **verdicts):
        roles = {"cpu/baseline": "baseline", "cpu/optimized": "optimized", "cpu/openblas": "peer"}
        results = [
            {
                "variant": variant, "role": role, "shape": dict(self.case.shape), "dtype": "f32", "case": "64x128x10",
                "verdict": verdicts.get(role, "ok"), "reason": "why", "way": "chunks" if role == "optimized" else None,
                "time_us": {"median": None if role in verdicts else 10.0, "n": 9},
            }
            for variant, role in roles.items()
        ]  # fmt: skip
        ratios = {"cpu/baseline": 1.5, "cpu/openblas": 2.0}
        pairs = [
            {"case": "64x128x10", "reference": reference, "speedup": {"median": ratio}}
            for reference, ratio in ratios.items()
        ] + [{"case": "1x1x1", "reference": "cpu/baseline", "speedup": {"median": 99.0}}]
        return {"results": results, "pairs": pairs, "findings": []}

    def test_ratios_are_the_paired_speedups(self):
        sides = sweep_cpu.sides_of(self.run_of(), self.case)
        self.assertEqual(
            {name: side.get("ratio") for name, side in sides.items()}, {"ridge": None, "onednn": 1.5, "openblas": 2.0}
        )

    def test_a_baseline_is_a_peer_of_cross_entropy_alone(self):
        case = draw.Case("linear_softmax", "tiny", dict(self.case.shape), "f32")
        self.assertEqual(set(sweep_cpu.sides_of(self.run_of(), case)), {"ridge", "openblas"})

    def test_verdicts(self):
        sides = sweep_cpu.sides_of(self.run_of(optimized="wrong", peer="skipped", baseline="failed"), self.case)
        self.assertEqual(
            {n: s["status"] for n, s in sides.items()}, {"ridge": "wrong", "openblas": "refused", "onednn": "failed"}
        )

    def test_the_way_is_that_of_ridge(self):
        run = self.run_of()
        self.assertEqual(sweep_cpu.way_of(run, self.case), "chunks")
        run["results"] = [result for result in run["results"] if result["role"] != "optimized"]
        self.assertIsNone(sweep_cpu.way_of(run, self.case))

    def test_a_case_that_the_run_does_not_have(self):
        other = draw.Case("ce_both", "tiny", {"batch": 1, "depth": 1, "classes": 1}, "f32")
        self.assertEqual(sweep_cpu.sides_of(self.run_of(), other)["ridge"]["status"], "failed")
