"""What tests/emulator/run makes of its results.

  results.py count DIR             prints how many variants and cases were right, were not, and were skipped; tells what was not
  results.py speed DIR             prints instructions a second
  results.py agree DIR FILE WORK   compares the digests of seed 1 with an H200's in FILE, of a variant with ways those of all that take
                                   the case: a table by target and variant; exit status 1 when a pair marked = in FILE differs
  results.py record DIR H200.json WORK   prints a FILE from the results and an H200's `ridge verify --json` of the same options
"""
import collections
import glob
import json
import os
import sys


def entries(folder, seed="*"):
    for path in sorted(glob.glob(os.path.join(folder, f"*-{seed}.json"))):
        with open(path) as file:
            for entry in json.load(file):
                yield path, entry


def key(entry):
    return entry["target"], entry["case"].replace(" ", "_"), entry["variant"]


def count(folder):
    verdicts = collections.Counter()
    for path, entry in entries(folder):
        kind = entry["verdict"] if entry["verdict"] in ("ok", "skipped") else "bad"
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


def read(path):
    with open(path) as file:
        for line in file:
            if not line.startswith("#") and line.strip():
                target, case, variant, digest, mark = line.split()
                yield (target, case, variant), (digest, mark)


def agree(folder, path, work):
    with open(path) as file:
        first = file.readline()
    if f"--work {work} " not in first:
        print(f"agree: {path} is of other options: {first.strip()}")
        return 1
    wanted = dict(read(path))
    table, broken = collections.defaultdict(lambda: [0, 0]), 0
    # Which way of a variant runs is the cost model's choice, and may be another one than when the file was made.
    digests = collections.defaultdict(set)
    for _, entry in entries(folder, "1"):
        if entry["verdict"] == "ok":
            target, case, variant = key(entry)
            digests[target, case, variant.split(":")[0]].add(entry["digest"])
    for _, entry in entries(folder, "1"):
        if entry["verdict"] != "ok" or key(entry) not in wanted:
            continue
        digest, mark = wanted[key(entry)]
        same = digest in digests[key(entry)]
        row = table[entry["target"], entry["variant"]]
        row[0] += same
        row[1] += 1
        if mark == "=" and not same:
            broken += 1
            print("agree: no longer as on an H200:", *key(entry))
    same, all_ = (sum(row[i] for row in table.values()) for i in (0, 1))
    for (target, variant), row in sorted(table.items()):
        print(f"  {target:32} {variant:20} {row[0]:4} of {row[1]}")
    print(f"agree: {same} of {all_} outputs are bit-identical to an H200's")
    return 1 if broken or not all_ else 0


def record(folder, path, work):
    with open(path) as file:
        there = {key(entry): entry for entry in json.load(file) if entry["verdict"] == "ok"}
    print(f"# Digests of an H200: ridge verify --backend cuda --edges --work {work} --layouts 1 --seed 1 --json")
    print("# =: the emulator's output is bit-identical; ~: it is not (approximate instructions); ?: not run on it")
    here = {key(entry): entry for _, entry in entries(folder, "1") if entry["verdict"] == "ok"}
    for name, entry in sorted(there.items()):
        mark = "?" if name not in here else "=" if here[name]["digest"] == entry["digest"] else "~"
        print(*name, entry["digest"], mark)
    return 0


if __name__ == "__main__":
    sys.exit({"count": count, "speed": speed, "agree": agree, "record": record}[sys.argv[1]](*sys.argv[2:]))
