#!/usr/bin/env python3
"""ridge on shapes drawn at random, beside PyTorch eager, torch.compile, Liger and quack, on one GPU.

    bench/sweep_cuda.py --seed 1                                         # every operation, 40 shapes each
    bench/sweep_cuda.py --seed 7 --op softmax --op l2norm --json rows.json
    bench/sweep_cuda.py --seed 7 --resume rows.json                      # go on, or add operations
    bench/sweep_cuda.py --seed 7 --count 100 --dtype bf16 --op ce_both
    bench/sweep_cuda.py --seed 7 --ways --alone --op softmax             # ridge's ways beside each other, no peers
    bench/sweep_cuda.py --seed 7 --op gemm --count 80                    # products: PyTorch eager is cuBLAS
    bench/sweep_cuda.py --seed 7 --op multihead --dry-run                # the shapes alone; needs no GPU

bench/draw.py draws the shapes. For each, operands rotate through sets that together exceed the L2 three times;
where 64 sets do not, the L2 is read full of something else before each replay. Each side's calls on all sets form
one CUDA graph; its results in that graph are compared with fp64 before it is timed. Graphs are replayed in rounds
of A B C … C B A. A side that cannot be captured, because it synchronizes, is timed between events. A side that
fails, exceeds its limit or is wrong is left out, and the record says why.

Printed for each operation: geometric mean and worst of best peer ÷ ridge, share of shapes ahead, and the ten worst
with the way that ran. Exit status: 1 if ridge was wrong or failed on a shape, 2 for bad usage, 3 without PyTorch
or a GPU that works.

torch.compile: before an operation is measured, --compilers processes call its sides once on every shape, which
fills PyTorch's and Triton's caches on disk. The GPU is idle otherwise, and nothing is timed then. Choices by timing
(Triton configurations) are not taken over from there: the measuring process makes them again, alone on the GPU.
"""

import contextlib
import dataclasses
import gc
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import time

import draw
import report
import sweep
from sweep import say

OPERATIONS = [name for name, operation in draw.OPERATIONS.items() if operation.kind != "product"]
MOST_SETS = 64
MOST_CALLS = 8  # between two events, of a side that no graph can hold
WARM_LIMIT_S = 180  # for the processes that compile ahead


def options_of(arguments):
    parser = sweep.arguments(__doc__, OPERATIONS, 40)
    parser.add_argument("--seconds", type=float, default=1.2, help="of rounds a shape (default 1.2; at least 5 rounds)")
    parser.add_argument(
        "--limit", type=float, default=30, help="seconds for a side's first call, with compilation (default 30)"
    )
    parser.add_argument("--max-bytes", type=int, default=draw.GPU.bytes, help="of one set of operands (default 2^30)")
    parser.add_argument("--ways", action="store_true", help="also every way of ridge that takes the shape")
    parser.add_argument("--alone", action="store_true", help="without peers")
    parser.add_argument("--no-compile", action="store_true", help="without torch.compile")
    parser.add_argument(
        "--compilers",
        type=int,
        default=min(8, (os.cpu_count() or 2) // 2),
        help="processes that compile ahead (default %(default)s; 0: none)",
    )
    parser.add_argument(
        "--warm", help="numbers of shapes: call their sides once and end (what those processes are started with)"
    )
    return parser.parse_args(arguments)


def limits_of(options):
    return dataclasses.replace(draw.GPU, bytes=options.max_bytes)


def drawn(options):
    names = list(dict.fromkeys(options.op or OPERATIONS))
    return [(name, draw.draw(name, options.seed, options.count, limits_of(options), options.dtype)) for name in names]


# ---- one case -------------------------------------------------------------------------------------------------------
@contextlib.contextmanager
def deadline(seconds, what):
    """Raises TimeoutError in the main thread when `seconds` have passed."""

    def late(*_):
        raise TimeoutError(f"{what} took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def first_line(error):
    return f"{type(error).__name__}: {error}".strip().splitlines()[0][:300]


class Bench:
    """Measures cases on `device`. `clock` has prepare(side, sets, flush) -> (take, how, results of the first set)."""

    def __init__(self, device, clock, compile, limit, seconds, seed=1, threads=1, ways=None, alone=False):
        import problems
        import sides

        self.ways, self.alone = ways or {}, alone  # ways by target
        self.problems, self.torch, self.ridge = problems, sides.torch, sides.import_ridge()
        self.libraries = {}
        if device == "cuda":
            self.libraries["liger"] = {**sides.liger_norms(), **sides.liger_loss()}
            self.libraries["quack"] = {**sides.quack_norms(), **sides.quack_loss()}
        self.sides, self.device, self.clock, self.compile = sides, device, clock, compile
        self.limit, self.seconds, self.seed, self.threads = limit, seconds, seed, threads

    def compiler(self, function):
        return self.torch.compile(function, dynamic=False)

    def prepare(self, case, sets):
        """The problem, and its sides before any of them ran."""
        if self.compile:
            self.torch._dynamo.reset()
        self.torch.manual_seed(self.seed)
        self.sides.allow_tf32(case.dtype == "tf32")
        context = self.ridge.Context(self.threads)
        context.allow_tf32(case.dtype == "tf32")
        problem = self.problems.problem_of(case, self.device)
        problem.sets = [problem.make() for _ in range(sets)]
        ways = self.ways.get(problem.target, ())
        runs = {f"ridge:{way}": problem.ridge_side(context, f"cuda/optimized:{way}") for way in ways}
        if self.alone:
            return problem, {"ridge": problem.ridge_side(context), **runs}
        return problem, {**problem.sides(context, self.compiler if self.compile else None, self.libraries), **runs}

    def first_calls(self, runs):
        """{side: what is known of it}; those that ran have no status yet."""
        known = {}
        for name, side in runs.items():
            begin = time.monotonic()
            try:
                with deadline(self.limit, "the first call"):
                    side.run(0)
                    self.clock.finish()
                known[name] = {"first_s": time.monotonic() - begin}
                if side.context:
                    known[name]["way"] = side.context.last_way
            except self.ridge.Error as error:
                known[name] = {"status": "refused", "reason": str(error)}
            except Exception as error:  # of whatever kind a compiler or a library raises
                known[name] = {"status": "failed", "reason": first_line(error)}
        return known

    def captured(self, runs, known, sets):
        """{side: take} of the sides that ran, and their results on the first set."""
        takes, outputs = {}, {}
        for name, side in runs.items():
            if "status" in known[name]:
                continue
            try:
                takes[name], known[name]["how"], results = self.clock.prepare(side, sets)
                outputs[name] = {key: x.detach().clone() for key, x in results.items()}  # ridge's ways share theirs
            except Exception as error:
                known[name].update(status="failed", reason=first_line(error))
        return takes, outputs

    def verified(self, problem, takes, outputs, known):
        """The takes of sides whose outputs are those of fp64."""
        errors = problem.errors(outputs)
        for name in outputs:
            error = known[name]["error"] = errors.get(name, math.nan)
            if not error <= problem.tolerance:
                known[name].update(status="wrong", reason=f"error {error:.1e}, at most {problem.tolerance:.0e}")
                del takes[name]
        return takes

    def measure(self, cases):
        return [self.measure_one(case) for case in cases]

    def measure_one(self, case):
        known = {}
        try:
            return self.measured(case, known)
        except Exception:
            self.clock.check(lambda: self.gone(case, known))  # was it the GPU's end, or this case's alone?
            raise
        finally:
            self.clock.release()

    def measured(self, case, known):
        """The result; `known` is filled as sides run."""
        begin, sets = time.monotonic(), self.clock.sets_for(case.bytes)
        problem, runs = self.prepare(case, sets)
        known.update(self.first_calls(runs))
        self.clock.finish()
        takes, outputs = self.captured(runs, known, sets)
        takes = self.verified(problem, takes, outputs, known)
        self.clock.rotate_past(case.bytes * sets)
        samples = sweep.interleave(takes, self.seconds) if "ridge" in takes else {}
        self.clock.finish()
        way = known["ridge"].get("way")
        taken = {name: s for name, s in known.items() if not (report.is_way(name) and s.get("status") == "refused")}
        return sweep.result_of(
            case, sweep.timed_sides(samples, taken), way=way, wall_s=time.monotonic() - begin, sets=sets
        )

    def gone(self, case, known):
        """What is recorded of a case after which the GPU is of no more use. ridge failed unless a peer did before."""
        peer_failed = any(side.get("status") == "failed" for name, side in known.items() if name != "ridge")
        default = {"status": "untimed" if peer_failed else "failed", "reason": "the GPU reported an error"}
        sides = {name: {**default, **fields} for name, fields in known.items()}
        return [sweep.result_of(case, {"ridge": default, **sides})]

    def warm(self, cases):
        """Calls every side once, for what that leaves in caches on disk."""
        for case in cases:
            try:
                self.first_calls(self.prepare(case, 1)[1])
            except Exception as error:
                self.sides.note(f"{case.key}: {first_line(error)}")
            self.clock.release()


class GraphClock:
    """Times in CUDA graphs, operands out of cache."""

    def __init__(self):
        import sides

        self.sides, self.torch, self.l2 = sides, sides.torch, sides.l2_bytes()
        self.other = self.torch.zeros(3 * self.l2 // 4, dtype=self.torch.int32, device="cuda")  # to read the L2 full of
        self.before = None

    def sets_for(self, bytes_of_one):
        return self.sides.sets_for(bytes_of_one, self.l2, MOST_SETS)

    def rotate_past(self, all_sets):
        self.before = None if all_sets > 3 * self.l2 else lambda: self.torch.sum(self.other)

    def finish(self):
        self.torch.cuda.synchronize()

    def check(self, results):
        try:
            self.torch.cuda.synchronize()
        except RuntimeError as error:
            raise sweep.Fatal(f"the GPU can no longer be used: {first_line(error)}", results()) from error

    def release(self):
        gc.collect()
        self.torch.cuda.empty_cache()

    def prepare(self, side, sets):
        if not side.captured:
            return self.between_events(side, sets), "events", side.run(0)
        kept = []
        if side.before:
            side.before(sets)
        graph = self.sides.graph_of(side.run, sets, kept, side.stream)
        for tensor in kept[0].values():
            with self.torch.no_grad():
                tensor.fill_(float("nan"))  # what the graph does not write is found
        graph.replay()
        self.torch.cuda.synchronize()
        return lambda: self.sides.elapsed(graph.replay, self.before) / sets, "graph", kept[0]

    def between_events(self, side, sets):
        sets = min(sets, MOST_CALLS)

        def some_sets():
            for i in range(sets):
                side.run(i)

        return lambda: self.sides.elapsed(some_sets, self.before) / sets


# ---- compiling ahead ------------------------------------------------------------------------------------------------
def compile_ahead(options, name, left):
    """Starts processes that call the sides of `left` once, and waits for them."""
    every = draw.draw(name, options.seed, options.count, limits_of(options), options.dtype)
    numbers = [i for i, case in enumerate(every) if case in left]
    n = min(options.compilers, len(numbers))
    if n < 1:
        return
    begin, command = time.monotonic(), [sys.executable, str(pathlib.Path(__file__).resolve())]
    command += ["--seed", str(options.seed), "--count", str(options.count), "--op", name, "--limit", str(options.limit)]
    command += ["--max-bytes", str(options.max_bytes)] + [word for t in options.dtype or [] for word in ("--dtype", t)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    alone = {**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "1"}  # each process, instead of a pool of its own
    workers = [
        subprocess.Popen(command + ["--warm", ",".join(map(str, numbers[i::n]))], env=alone, **quiet) for i in range(n)
    ]
    for worker in workers:
        try:
            worker.wait(max(0.1, begin + WARM_LIMIT_S - time.monotonic()))
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()
    ended = sum(worker.returncode == 0 for worker in workers)
    say(f"{name}: {ended} of {n} processes compiled ahead in {time.monotonic() - begin:.0f} s")


def ways_by_target():
    """{target: names of the ways of cuda/optimized}, as the command beside the library lists them."""
    command = [sweep.command(), "list", "--json", "-"]
    listed = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return {
        target["target"]: [way["way"] for v in target["variants"] if v["variant"] == "cuda/optimized" for way in v["ways"]]
        for target in listed["targets"]
    }


def choose_again():
    """Triton configurations that a process under load timed are not taken from the cache."""
    import torch._inductor.config as inductor

    if hasattr(inductor, "autotune_local_cache"):
        inductor.autotune_local_cache = False


def main(arguments=None):
    options = options_of(arguments)
    try:
        operations = drawn(options)
    except ValueError as error:
        say(f"sweep_cuda: {error}")
        return 2
    if options.dry_run:
        for name, cases in operations:
            print(
                "\n".join(f"{name:16} {case.key:44} {case.bytes / 2**20:10.3f} MiB  {case.stratum}" for case in cases)
            )
        return 0
    try:
        import sides
    except ImportError as error:
        say(f"sweep_cuda: {error}")
        return 3
    if not sides.torch.cuda.is_available():
        say("sweep_cuda: PyTorch sees no GPU")
        return 3
    if not options.no_compile:
        choose_again()
    ways = ways_by_target() if options.ways and options.warm is None else {}
    compiles = not (options.no_compile or options.alone)
    bench = Bench(
        "cuda", GraphClock(), compiles, options.limit, options.seconds, options.seed, ways=ways, alone=options.alone
    )
    if options.warm is not None:
        bench.warm([operations[0][1][int(i)] for i in options.warm.split(",")])
        return 0
    settings = {
        "seed": options.seed,
        "max_bytes": options.max_bytes,
        "seconds": options.seconds,
        "compile": compiles,
    }
    try:
        record = sweep.Sweep("cuda", options, settings, sides.machine())
    except report.Mismatch as error:
        say(f"sweep_cuda: {error}")
        return 2
    before = None if not compiles else lambda name, left: compile_ahead(options, name, left)
    try:
        lines = sweep.run(record, operations, bench.measure, before=before)
    except sweep.Fatal as error:
        say(f"sweep_cuda: {error}; continue with --resume")
        return 3
    if options.markdown:
        report.write_whole(options.markdown, "\n".join(lines) + "\n")
    return sweep.exit_status(record.record)


if __name__ == "__main__":
    sys.exit(main())
