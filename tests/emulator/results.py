"""What tests/emulator/run makes of its results.

  results.py count DIR             prints how many variants and cases were right, were not, and were skipped; tells what was not
  results.py speed DIR             prints instructions a second
  results.py agree DIR FILE        compares the digests of seed 1 with an H200's in FILE: a table by target and variant; exit status 1
                                   when a pair marked = differs or is not there. Told besides: pairs that the choice among the
                                   variant's ways took elsewhere than on the H200; that way's own digest is compared then
  results.py record DIR H200.json  prints a FILE from the results and an H200's `ridge verify --json` of the same options
"""
import collections
import glob
import json
import os
import re
import sys


def entries(folder, seed="*"):
    for path in sorted(glob.glob(os.path.join(folder, f"*-{seed}.json"))):
        with open(path) as file:
            for entry in json.load(file)["results"]:
                yield path, entry


def key(entry):
    return entry["target"], entry["case"].replace(" ", "_"), entry["variant"]


# Findings in the code of others that docs/EMULATOR.md tells, by the variant's name: `run triton` looks at those variants' answers.
TRITON = re.compile(": missing-proxy-fence: kernel |: race: kernel .* writes the same value to ")
FOREIGN = {"cuda/triton_aot": TRITON, "cuda/triton_aot_unfused": TRITON}


def is_foreign(entry):
    known = FOREIGN.get(entry["variant"].split(":")[0])
    return entry["verdict"] == "failed" and known is not None and known.search(entry["reason"]) is not None


def count(folder):
    verdicts = collections.Counter()
    for path, entry in entries(folder):
        kind = entry["verdict"] if entry["verdict"] in ("ok", "skipped") else "skipped" if is_foreign(entry) else "bad"
        verdicts[kind] += 1
        if kind == "bad":
            print(os.path.basename(path), *key(entry), entry["reason"], file=sys.stderr)
    for table in glob.glob(os.path.join(folder, "*.table")):  # a run that left no results
        if not os.path.exists(table[: -len("table")] + "json"):
            verdicts["bad"] += 1
            with open(table[: -len("table")] + "log") as log:
                print(os.path.basename(table), "left no results:", log.read()[-300:], file=sys.stderr)
    if not verdicts["ok"]:
        verdicts["bad"] += 1
        print("nothing was verified", file=sys.stderr)
    print(verdicts["ok"], verdicts["bad"], verdicts["skipped"])


def speed(folder):
    total = collections.Counter()
    for path in glob.glob(os.path.join(folder, "*.report")):
        with open(path) as file:
            for line in file:
                event = json.loads(line)
                if event.get("event") == "counts":
                    for name, value in event.items():
                        if isinstance(value, (int, float)):
                            total[name] += value
    if total["seconds"]:
        print(
            f"speed: {total['lane_instructions'] / total['seconds'] / 1e6:.0f} million lane instructions and "
            f"{total['tiles'] / total['seconds'] / 1e3:.1f} thousand matrix products a second, "
            f"{total['launches']:.0f} launches, {total['seconds']:.0f} s of one core"
        )


OPTIONS = "--backend cuda --edges --cheap 1e6 --layouts 1 --seed 1"


def read(path):
    with open(path) as file:
        for line in file:
            if not line.startswith("#") and line.strip():
                target, case, variant, way, digest, mark = line.split()
                yield (target, case, variant), (way, digest, mark)


def verified(entries_):
    return {key(entry): entry for entry in entries_ if entry["verdict"] == "ok"}


def agree(folder, path):
    here = verified(entry for _, entry in entries(folder, "1"))
    table, broken, gone = collections.defaultdict(lambda: [0, 0]), 0, 0
    for (target, case, variant), (way, digest, mark) in read(path):
        entry = here.get((target, case, variant))
        if entry and way != (entry["way"] or "-"):
            print(f"agree: {target} {case} {variant} runs {entry['way']} here, {way} on an H200")
            entry = here.get((target, case, f"{variant}:{way}"))
        if not entry:
            gone += mark == "="
            print("agree: no longer verified:", target, case, variant, way)
            continue
        same = entry["digest"] == digest
        table[target, variant][0] += same
        table[target, variant][1] += 1
        if mark == "=" and not same:
            broken += 1
            print("agree: no longer as on an H200:", target, case, variant, way)
    same, all_ = (sum(row[i] for row in table.values()) for i in (0, 1))
    for (target, variant), row in sorted(table.items()):
        print(f"  {target:32} {variant:20} {row[0]:4} of {row[1]}")
    print(f"agree: {same} of {all_} outputs are bit-identical to an H200's")
    return 1 if broken or gone or not all_ else 0


def record(folder, path):
    """Single ways are not listed: the variant that chooses one of them has its digest."""
    with open(path) as file:
        there = {name: entry for name, entry in verified(json.load(file)["results"]).items() if ":" not in name[2]}
    print(f"# Digests of an H200: ridge verify {OPTIONS} --json")
    print("# target, case, variant, the way that ran, digest; =: the emulator's output is bit-identical; ~: it is not (approximate")
    print("# instructions); ?: not run on it")
    here = verified(entry for _, entry in entries(folder, "1"))
    for name, entry in sorted(there.items()):
        way = entry["way"] or "-"
        mine = here.get(name)
        if mine and (mine["way"] or "-") != way:
            mine = here.get((*name[:2], f"{name[2]}:{way}"))
        print(*name, way, entry["digest"], "?" if not mine else "=" if mine["digest"] == entry["digest"] else "~")
    return 0


if __name__ == "__main__":
    sys.exit({"count": count, "speed": speed, "agree": agree, "record": record}[sys.argv[1]](*sys.argv[2:]))
