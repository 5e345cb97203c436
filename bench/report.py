"""What a sweep makes of its measurements: ratios, summaries, tables, and its file. Needs nothing but Python.

A result is one case: its key, its shape, the way that ran, and its sides. A side has a status, a median in µs and,
unless it is ridge, `ratio`: its time over ridge's, the median of the paired ratios of all rounds. Above 1 ridge is
faster.

    {"operation": "softmax", "key": "64x512/bf16", "dtype": "bf16", "threads": null, "way": null, "sides": {
        "ridge": {"status": "ok", "median_us": 3.1, …}, "eager": {"status": "ok", "median_us": 6.4, "ratio": 2.06, …}}}

A side with `aside` true has a line of its own in the tables, but is no best peer. Sides named "ridge:rows_warp" are
ridge by a way that it was told to take: they are no peers, and say what the choice among them cost.

Statuses: ok; wrong (an output is not fp64's); refused (ridge does not take the case); failed (an error, a time
limit); untimed (ridge or the GPU failed before it was its turn).
"""

import json
import math
import os
import pathlib
import statistics
import tempfile

SCHEMA = "ridge-sweep/1"
WORST = 10
NO_WAY = "–"


# ---- statistics -----------------------------------------------------------------------------------------------------
def geometric_mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else None


def paired_ratio(peer, ridge):
    """Median over the rounds of the peer's time over ridge's; a round is a forward and a backward visit of each."""
    return statistics.median(sum(p) / sum(r) for p, r in zip(_by_round(peer), _by_round(ridge)))


def _by_round(samples):
    return [samples[i : i + 2] for i in range(0, len(samples) - 1, 2)]


def best_peer(result):
    """(name, ratio) of the peer that is nearest to ridge or farthest ahead; None: ridge or all peers have no time."""
    if result["sides"].get("ridge", {}).get("status") != "ok":
        return None
    ratios = {name: side["ratio"] for name, side in result["sides"].items() if _counts(side) and not is_way(name)}
    return min(ratios.items(), key=lambda item: item[1]) if ratios else None


def is_way(name):
    return name.startswith("ridge:")


def best_way(result):
    """(name, time over that of the way which ridge chose) of ridge's fastest way; None: no way was timed."""
    ways = {n: s["ratio"] for n, s in result["sides"].items() if is_way(n) and s["status"] == "ok" and "ratio" in s}
    return min(ways.items(), key=lambda item: item[1]) if ways else None


def _counts(side):
    return side["status"] == "ok" and "ratio" in side and not side.get("aside")


def summarize(results):
    """Of one operation's results: how often and how far ridge is ahead of the best peer, and of each peer."""
    measured = [(best_peer(r), r) for r in results if best_peer(r)]
    ratios = [best[1] for best, _ in measured]
    peers = sorted({n for r in results for n, side in r["sides"].items() if "ratio" in side and not is_way(n)})
    chosen = [(best_way(r), r) for r in results if best_way(r)]
    return {
        "shapes": len(results),
        "measured": len(measured),
        **_figures(ratios),
        "by_dtype": {
            dtype: _figures([best[1] for best, r in measured if r["dtype"] == dtype])
            for dtype in sorted({r["dtype"] for _, r in measured})
        },
        "by_peer": {name: _figures(_ratios_over(results, name)) for name in peers},
        "best_way": _figures([best[1] for best, _ in chosen]),
        "worst_choices": [r["key"] for _, r in sorted(chosen, key=lambda c: c[0][1])[:WORST]],
        "worst_cases": [r["key"] for _, r in sorted(measured, key=lambda m: m[0][1])[:WORST]],
        "ridge_without_time": {r["key"]: _why(r) for r in results if r["sides"].get("ridge", {}).get("status") != "ok"},
        "no_peer": [
            r["key"] for r in results if not best_peer(r) and r["sides"].get("ridge", {}).get("status") == "ok"
        ],
        "wrong_peers": _peers_with("wrong", results),
        "failed_peers": _peers_with("failed", results),
    }


def _peers_with(status, results):
    sides = [(name, side) for r in results for name, side in r["sides"].items()]
    return sum(side["status"] == status for name, side in sides if name != "ridge" and not is_way(name))


def _ratios_over(results, peer):
    sides = [r["sides"] for r in results if r["sides"].get("ridge", {}).get("status") == "ok"]
    return [
        s[peer]["ratio"] for s in sides if s.get(peer, {}).get("status") == "ok" and "ratio" in s[peer]
    ]  # aside or not


def _figures(ratios):
    return {
        "n": len(ratios),
        "geometric_mean": geometric_mean(ratios),
        "worst": min(ratios, default=None),
        "ahead": sum(r > 1 for r in ratios) / len(ratios) if ratios else None,
    }


def _why(result):
    side = result["sides"].get("ridge", {"status": "failed", "reason": "no such side"})
    return f"{side['status']}: {side.get('reason', '')}"


# ---- tables ---------------------------------------------------------------------------------------------------------
def _number(x, form=".2f"):
    return "–" if x is None else format(x, form)


def _percent(x):
    return "–" if x is None else f"{100 * x:.0f} %"


def _table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return lines + ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]


def _line(label, f):
    return [label, f["n"], _number(f["geometric_mean"]), _number(f["worst"]), _percent(f["ahead"])]


def markdown(operation, results):
    """The tables of one operation, as lines."""
    s = summarize(results)
    lines = [f"### {operation}: {s['measured']} of {s['shapes']} shapes measured", ""]
    rows = [_line("best peer", s)]
    rows += [_line(f"best peer, {dtype}", f) for dtype, f in s["by_dtype"].items() if len(s["by_dtype"]) > 1]
    rows += [_line(name, f) for name, f in s["by_peer"].items()]
    lines += _table(["peer ÷ ridge", "shapes", "geometric mean", "worst", "ahead"], rows)
    if s["worst_cases"]:
        by_key = {r["key"]: r for r in results}
        lines += ["", f"The {len(s['worst_cases'])} worst:", ""]
        lines += _table(
            ["shape", "best peer ÷ ridge", "ridge, µs", "best peer", "µs", "way"],
            [_worst_row(by_key[key]) for key in s["worst_cases"]],
        )
    lines += _choices(s, results)
    lines += [""] if s["ridge_without_time"] or s["no_peer"] else []
    lines += [f"- ridge has no time, {key}: {why}" for key, why in s["ridge_without_time"].items()]
    lines += [f"- no peer has a time: {key}" for key in s["no_peer"]]
    if s["wrong_peers"] or s["failed_peers"]:
        lines += ["", f"Peers left out: {s['wrong_peers']} wrong, {s['failed_peers']} failed (the record says why)."]
    disturbed = [what for r in results for what in r.get("findings", ())]
    if disturbed:
        said = ", ".join(f"{what} ({disturbed.count(what)} shapes)" for what in dict.fromkeys(disturbed))
        lines += ["", f"Measure again on a quiet machine; `ridge run` found: {said}."]
    return lines + [""]


def _choices(summary, results):
    """What the choice of a way cost, where ways were timed."""
    f = summary["best_way"]
    if not f["n"]:
        return []
    by_key = {r["key"]: r for r in results}
    mean, worst = _number(f["geometric_mean"], ".3f"), _number(f["worst"])
    lines = ["", f"Best way ÷ chosen way, {f['n']} shapes: geometric mean {mean}, worst {worst}.", ""]
    rows = [_choice_row(by_key[key]) for key in summary["worst_choices"]]
    return lines + _table(["shape", "best ÷ chosen", "chosen, µs", "chosen", "best"], rows)


def _choice_row(result):
    name, ratio = best_way(result)
    chosen = _number(result["sides"]["ridge"]["median_us"], ".4g")
    return [result["key"], _number(ratio), chosen, result.get("way") or NO_WAY, name.removeprefix("ridge:")]


def _worst_row(result):
    name, ratio = best_peer(result)
    sides = result["sides"]
    times = (_number(sides[side]["median_us"], ".4g") for side in ("ridge", name))
    ridge_us, peer_us = times
    return [result["key"], _number(ratio), ridge_us, name, peer_us, result.get("way") or NO_WAY]


# ---- the file -------------------------------------------------------------------------------------------------------
def write_whole(path, text):
    """Writes a file that appears under its name with all of its text or not at all."""
    path = pathlib.Path(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name + ".", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        pathlib.Path(temporary).unlink(missing_ok=True)
        raise


def _no_nan(value):
    """JSON has no NaN and no infinity: null instead."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {k: _no_nan(v) for k, v in value.items()}
    return [_no_nan(v) for v in value] if isinstance(value, (list, tuple)) else value


def write_record(path, record):
    write_whole(path, json.dumps(_no_nan(record), indent=1, allow_nan=False, ensure_ascii=False) + "\n")


class Mismatch(ValueError):
    """A record that this sweep cannot continue, and why."""


def read_record(path, same):
    """The record in `path`, to be continued. `same`: what it must have in common with this sweep, by dotted name."""
    try:
        record = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Mismatch(f"{path}: {error}") from error
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        raise Mismatch(f"{path}: not a record of a sweep ({SCHEMA})")
    for name, wanted in same.items():
        found = record
        for part in name.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        if found != wanted:
            raise Mismatch(f"{path}: its {name} is {found!r}, this sweep's is {wanted!r}")
    return record
