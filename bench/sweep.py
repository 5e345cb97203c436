"""What the sweeps share: the loop over operations and cases, the record that grows with each case, resuming, the
tables.

A sweep brings `measure(case)`, which returns a result as report.py describes; everything here runs without PyTorch.
"""

import argparse
import datetime
import os
import pathlib
import shlex
import statistics
import sys
import time

import report


def arguments(description, operations, count):
    """The options of both sweeps."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True, help="the shapes that are drawn, and the values in them")
    parser.add_argument(
        "--op",
        action="append",
        choices=operations,
        metavar="NAME",
        help=f"only this operation; may be repeated: {', '.join(operations)}",
    )
    parser.add_argument("--count", type=_positive, default=count, help=f"shapes an operation (default {count})")
    parser.add_argument(
        "--dtype", action="append", metavar="TYPE", help="only this type: f32, tf32, bf16, f16; may be repeated"
    )
    parser.add_argument("--dry-run", action="store_true", help="print the shapes and measure nothing")
    parser.add_argument("--json", metavar="FILE", help="the record, written anew after every case; whole or not at all")
    parser.add_argument(
        "--resume", metavar="FILE", help="continue the record in FILE: cases that it has are not measured again"
    )
    parser.add_argument("--markdown", metavar="FILE", help="the tables, besides standard output")
    return parser


def _positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


class Fatal(RuntimeError):
    """Nothing more can be measured in this process. The record has what was measured, and --resume goes on after it.
    `results`: those of the cases at fault, so that they are not tried again."""

    def __init__(self, text, results=()):
        super().__init__(text)
        self.results = list(results)


def command(named=None):
    """The command ridge: `named`, or this tree's, or the one in PATH."""
    here = pathlib.Path(__file__).resolve().parents[1]
    places = [named] if named else [str(here / "build/ridge"), str(here / "ridge")]
    return next((place for place in places if os.access(place, os.X_OK)), named or "ridge")


def say(text):
    print(text, file=sys.stderr, flush=True)


class Sweep:
    """One record and its file. `same` are the settings that a record must have to be continued."""

    def __init__(self, kind, options, settings, machine):
        self.path = options.json or options.resume
        self.settings, self.machine, self.kind = settings, machine, kind
        if options.resume:
            same = {"kind": kind, "machine": machine, **{f"settings.{name}": value for name, value in settings.items()}}
            self.record = report.read_record(options.resume, same)
        else:
            self.record = {
                "schema": report.SCHEMA,
                "kind": kind,
                "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "command": shlex.join(sys.argv),
                "settings": settings,
                "machine": machine,
                "results": [],
                "summaries": {},
            }

    def has(self, case, threads=None):
        return any(r["key"] == case.key for r in self.of(case.operation, threads))

    def of(self, operation, threads=None):
        return [r for r in self.record["results"] if (r["operation"], r["threads"]) == (operation, threads)]

    def add(self, result):
        self.record["results"].append(result)
        self.write()

    def write(self):
        if self.path:
            report.write_record(self.path, self.record)

    def finish(self, operation, threads=None):
        """Puts the operation's summary into the record; returns its tables."""
        title = operation if threads is None else f"{operation}, {threads} thread{'s' * (threads != 1)}"
        results = self.of(operation, threads)
        self.record["summaries"][title] = report.summarize(results)
        self.write()
        return report.markdown(title, results)


# ---- timing ---------------------------------------------------------------------------------------------------------
def turns(names, rounds):
    """(round, name) in the order A B C … C B A, alternating by round."""
    for r in range(rounds):
        for name in list(names) if r % 2 == 0 else list(names)[::-1]:
            yield r, name


def interleave(takes, seconds, least=5, most=20, clock=time.monotonic):
    """Samples of each side: `takes` are functions that make and return one. After an untimed visit of each, rounds of
    A B C … C B A: at least `least`, at most `most`, and none begins after `seconds`."""
    for take in takes.values():
        take()
    samples, begin, rounds = {name: [] for name in takes}, clock(), 0
    while rounds < least or (rounds < most and clock() - begin < seconds):
        for _, name in turns(takes, 2):
            samples[name].append(takes[name]())
        rounds += 1
    return samples


def timed_sides(samples, known):
    """Sides for a result: `known` ({name: fields}) with medians, samples and ratios to ridge."""
    made = {}
    for name, fields in known.items():
        made[name] = {"status": "untimed", "reason": "ridge has no time on this shape", **fields}
        if samples.get(name):
            del made[name]["reason"]
            made[name].update(status="ok", median_us=statistics.median(samples[name]), samples_us=samples[name])
            if name != "ridge" and samples.get("ridge"):
                made[name]["ratio"] = report.paired_ratio(samples[name], samples["ridge"])
    return made


# ---- the loop -------------------------------------------------------------------------------------------------------
def result_of(case, sides, threads=None, way=None, wall_s=None, **more):
    """A result in the record's form, see report.py."""
    return {
        "operation": case.operation,
        "stratum": case.stratum,
        "key": case.key,
        "shape": dict(case.shape),
        "dtype": case.dtype,
        "pad": case.pad,
        "offset": case.offset,
        "column_major": case.column_major,
        "a_column_major": case.a_column_major,
        "labels": case.labels,
        "bytes": case.bytes,
        "threads": threads,
        "way": way,
        "wall_s": wall_s,
        **more,
        "sides": sides,
    }


def failed_case(case, error, threads=None):
    reason = f"{type(error).__name__}: {error}".splitlines()[0][:300]
    return result_of(case, {"ridge": {"status": "failed", "reason": reason}}, threads)


def run(sweep, operations, measure, batch=1, before=None, threads=None):
    """Measures what the record does not have yet. Returns the lines of all tables.

    `operations`: [(name, cases)]. `measure`: of up to `batch` cases, returns their results. `before(name, cases)`:
    called with what is left of an operation before its first case."""
    lines = []
    for name, cases in operations:
        left, begin = [case for case in cases if not sweep.has(case, threads)], time.monotonic()
        if before and left:
            before(name, left)
        for i in range(0, len(left), batch):
            part = left[i : i + batch]
            say(f"[{i + len(part)}/{len(left)}] {name} " + "  ".join(case.key for case in part))
            for result in _measured(sweep, measure, part, threads):
                sweep.add(result)
                say(f"        {result['key']}: {in_a_line(result)}")
        tables = sweep.finish(name, threads)
        lines += tables
        print("\n".join(tables), flush=True)
        if left:
            say(f"{name}: {len(left)} shapes in {time.monotonic() - begin:.0f} s")
    return lines


def _measured(sweep, measure, part, threads):
    try:
        return measure(part)
    except Fatal as error:
        for result in error.results:
            sweep.add(result)
        raise
    except Exception as error:  # one case must not end the sweep; its record says what happened
        return [failed_case(case, error, threads) for case in part]


def in_a_line(result):
    ridge, best = result["sides"].get("ridge", {}), report.best_peer(result)
    if ridge.get("status") != "ok":
        return f"ridge {ridge.get('status')}: {ridge.get('reason', '')}"
    against = f"{best[1]:.2f} over {best[0]}" if best else "no peer has a time"
    left_out = [f"{n} {s['status']}" for n, s in result["sides"].items() if s["status"] != "ok"]
    return f"{ridge['median_us']:.4g} µs, {against}" + (f" ({', '.join(left_out)})" if left_out else "")


def exit_status(record):
    """1: a result of ridge was wrong, or it failed, by whichever way. A refusal and what peers do are answers."""
    sides = [(name, side) for r in record["results"] for name, side in r["sides"].items()]
    return int(any(s["status"] in ("wrong", "failed") for n, s in sides if n == "ridge" or report.is_way(n)))
