#!/usr/bin/env python3
"""ridge on shapes drawn at random, beside oneDNN and OpenBLAS (and PyTorch, where it is installed), on the CPU.

    bench/sweep_cpu.py --seed 1                                     # 60 shapes an operation, one thread and all
    bench/sweep_cpu.py --seed 7 --op product --threads 1 --json rows.json
    bench/sweep_cpu.py --seed 7 --resume rows.json                  # go on, or add operations
    bench/sweep_cpu.py --seed 7 --op linear_softmax --dry-run       # the shapes alone

bench/draw.py draws the shapes: dense, f32 (row-wise operations: bf16 as well), at most 64 MiB and 1 GFLOP. `ridge
run` verifies and measures them, cold, ridge and its peers interleaved; the ratios are its paired speedups. Of
cross-entropy the peer "onednn" is ridge's own unfused pair on oneDNN's sgemm (cpu/baseline).

With PyTorch, "pytorch, from Python" is its eager operation beside ridge's, both called from Python in this process.
Its ratios hold the cost of the calls, so it has lines of its own and is no best peer. --no-torch leaves it out.

Printed for each operation and number of threads: geometric mean and worst of best peer ÷ ridge and of each peer ÷
ridge, share of shapes ahead, and the ten worst. Exit status: 1 if ridge was wrong or failed on a shape, 2 for bad
usage, 3 without a `ridge` to run.
"""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import draw
import report
import sweep
from sweep import say

OPERATIONS = [
    "product",
    "linear_softmax",
    "ce_forward",
    "ce_backward",
    "ce_both",
    "softmax",
    "layer_norm+gelu",
]  # have peers
BY_TORCH = [name for name, o in draw.OPERATIONS.items() if name not in OPERATIONS and "f32" in o.dtypes]  # by PyTorch alone
TIMED = ("ok", "frame-dominated")  # verdicts with a time
PYTORCH = "pytorch, from Python"
BATCH = 10  # shapes in one `ridge run`, whose probes take seconds


def options_of(arguments):
    parser = sweep.arguments(__doc__, OPERATIONS + BY_TORCH, 60)
    parser.add_argument(
        "--threads", action="append", type=int, metavar="N", help="may be repeated (default: 1, and all)"
    )
    parser.add_argument(
        "--seconds", type=float, default=0.5, help="of rounds a shape (ridge run --max-time; default 0.5)"
    )
    parser.add_argument("--max-bytes", type=int, default=draw.CPU.bytes, help="of the operands (default 2^26)")
    parser.add_argument(
        "--ridge", metavar="FILE", help="the command (default: build/ridge of this tree, or the one in PATH)"
    )
    parser.add_argument("--no-torch", action="store_true", help="without PyTorch, even if it is installed")
    return parser.parse_args(arguments)


def limits_of(options, operation):
    types = ("f32", "bf16") if draw.OPERATIONS[operation].kind == "rows" else ("f32",)
    return dataclasses.replace(draw.CPU, bytes=options.max_bytes, dtypes=types)


def all_threads():
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))


# ---- through `ridge run` --------------------------------------------------------------------------------------------
def run_ridge(command, cases, threads, seconds, seed):
    """The run's JSON of cases that have one operation and one type."""
    operation = draw.OPERATIONS[cases[0].operation]
    sizes = ",".join("x".join(map(str, case.shape.values())) for case in cases)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "run.json"
        asked = [command, "run", operation.target, "--backend", "cpu", "--sizes", sizes, "--dtype", cases[0].dtype]
        asked += ["--threads", str(threads), "--max-time", str(seconds), "--seed", str(seed), "--json", str(path)]
        done = subprocess.run(asked, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode not in (0, 1):  # 1: a verdict is wrong or failed, which the record says
            why = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise RuntimeError(f"ridge run ended with {done.returncode}: {why}")
        return json.loads(path.read_text())


def peer_name(variant, role, operation):
    """None: not a peer. The library's unfused pair is cross-entropy's baseline."""
    if role == "peer":
        return variant.removeprefix("cpu/")
    return "onednn" if role == "baseline" and operation in draw.CROSS_ENTROPY else None


def side_of(result):
    verdict, median = result["verdict"], result["time_us"]["median"]
    if verdict in TIMED and median is not None:
        return {"status": "ok", "verdict": verdict, "median_us": median, "n": result["time_us"]["n"]}
    status = {"wrong": "wrong", "impossible": "wrong", "skipped": "refused"}.get(verdict, "failed")
    return {"status": status, "verdict": verdict, "reason": result["reason"]}


def results_of(run, case):
    shape = dict(case.shape)
    return [r for r in run["results"] if r["shape"] == shape and r["dtype"] == case.dtype]


def way_of(run, case):
    """ridge's; None: the variant has none."""
    return next((r["way"] for r in results_of(run, case) if r["role"] == "optimized"), None)


def sides_of(run, case):
    """ridge and its peers on one case of a run."""
    results = results_of(run, case)
    if not results:
        return {"ridge": {"status": "failed", "reason": "ridge run has no result of it"}}
    speedups = {p["reference"]: p["speedup"]["median"] for p in run["pairs"] if p["case"] == results[0]["case"]}
    sides = {}
    for result in results:
        name = (
            "ridge" if result["role"] == "optimized" else peer_name(result["variant"], result["role"], case.operation)
        )
        if name:
            sides[name] = side_of(result)
            if name != "ridge" and sides[name]["status"] == "ok" and speedups.get(result["variant"]):
                sides[name]["ratio"] = speedups[result["variant"]]
    return sides


def machine_of(command):
    """What `ridge doctor` says this machine is."""
    done = subprocess.run([command, "doctor", "--json", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        machine = json.loads(done.stdout)["machine"]
    except (ValueError, KeyError) as error:
        raise OSError(f"{command} doctor --json - gives no machine ({error})") from error
    return {name: machine.get(name) for name in ("cpu", "cores", "threads", "isa")}


# ---- PyTorch in this process ----------------------------------------------------------------------------------------
class HostClock:
    """Single calls by the host's clock, each on the next set of operands."""

    def __init__(self, cache):
        self.cache = cache

    def sets_for(self, bytes_of_one):
        return max(2, min(64, 2 + 3 * self.cache // max(1, bytes_of_one)))

    def rotate_past(self, all_sets):
        pass

    finish = release = lambda self: None

    def check(self, results):
        pass

    def prepare(self, side, sets):
        turn = [0]

        def take():
            turn[0] = (turn[0] + 1) % sets
            begin = time.perf_counter()
            side.run(turn[0])
            return (time.perf_counter() - begin) * 1e6

        return take, "calls", side.run(0)


def torch_bench(options, threads):
    """Measures cases with ridge and PyTorch called from Python; None without PyTorch."""
    if options.no_torch:
        return None
    try:
        import torch
    except ImportError:
        return None
    import sweep_cuda

    torch.set_num_threads(threads)
    return sweep_cuda.Bench("cpu", HostClock(1 << 26), False, 60, options.seconds, options.seed, threads)


def add_torch(bench, case, sides):
    """The eager side nearest to ridge, as a side of its own."""
    measured = bench.measure_one(case)["sides"]
    peers = {name: side for name, side in measured.items() if name != "ridge"}
    timed = [side for side in peers.values() if "ratio" in side]
    sides[PYTORCH] = (
        min(timed, key=lambda side: side["ratio"]) if timed else next(iter(peers.values()), {"status": "failed"})
    )
    sides[PYTORCH] = {**sides[PYTORCH], "aside": True, "ridge_from_python_us": measured["ridge"].get("median_us")}


# ---- the sweep ------------------------------------------------------------------------------------------------------
def measure(options, command, bench, threads, cases):
    sides, ways, findings, begin = {}, {}, {}, time.monotonic()
    for dtype in sorted({case.dtype for case in cases}):
        part = [case for case in cases if case.dtype == dtype]
        run = run_ridge(command, part, threads, options.seconds, options.seed)
        sides.update({case.key: sides_of(run, case) for case in part})
        ways.update({case.key: way_of(run, case) for case in part})
        findings.update(dict.fromkeys([case.key for case in part], [finding["what"] for finding in run["findings"]]))
    for case in cases:
        if bench and case.operation != "product":
            try:
                add_torch(bench, case, sides[case.key])
            except Exception as error:  # what PyTorch cannot do leaves ridge's own measurement as it is
                sides[case.key][PYTORCH] = {"status": "failed", "reason": str(error)[:300], "aside": True}
    wall = (time.monotonic() - begin) / len(cases)
    return [
        sweep.result_of(case, sides[case.key], threads, ways[case.key], wall, findings=findings[case.key])
        for case in cases
    ]


def main(arguments=None):
    options = options_of(arguments)
    try:
        operations = [
            (name, draw.draw(name, options.seed, options.count, limits_of(options, name), options.dtype))
            for name in dict.fromkeys(options.op or OPERATIONS)
        ]
    except ValueError as error:
        say(f"sweep_cpu: {error}")
        return 2
    if options.dry_run:
        for name, cases in operations:
            print(
                "\n".join(f"{name:16} {case.key:28} {case.flops / 1e6:10.3f} MFLOP  {case.stratum}" for case in cases)
            )
        return 0
    command = sweep.command(options.ridge)
    try:
        machine = machine_of(command)
    except OSError as error:
        say(f"sweep_cpu: {error}")
        return 3
    settings = {"seed": options.seed, "max_bytes": options.max_bytes, "seconds": options.seconds}
    try:
        record = sweep.Sweep("cpu", options, settings, machine)
    except report.Mismatch as error:
        say(f"sweep_cpu: {error}")
        return 2
    lines = []
    for threads in dict.fromkeys(options.threads or [1, all_threads()]):
        bench = torch_bench(options, threads)
        lines += sweep.run(
            record,
            operations,
            lambda cases: measure(options, command, bench, threads, cases),
            batch=BATCH,
            threads=threads,
        )
    if options.markdown:
        report.write_whole(options.markdown, "\n".join(lines) + "\n")
    return sweep.exit_status(record.record)


if __name__ == "__main__":
    sys.exit(main())
