#!/usr/bin/env python3
"""Kernels that overlap the launch before them read nothing before they have waited for it, in machine code; and no
descriptor of memory is in an odd uniform register (those of products of tensor cores may be).

    tests/gpu/waits.py build           # every object below, or objects by name; needs cuobjdump
    tests/gpu/waits.py --list build    # the loads, too

griddepcontrol.wait is ACQBULK in machine code. ptxas moved loads with ld.global.nc before it where the wait is
conditional: such a kernel reads what the launch before has not written yet, and no emulator or sanitizer sees it.
A descriptor is a pair of registers, the first of which is even. ptxas 13.0 gave cp.async with a cache policy an odd one,
where the address in shared memory is a uniform register plus a number: an illegal instruction.
A kernel whose operands are known not to be written by the launch before it is listed in EARLY, with the reason.
Exit status: 0 none do, 1 some do, 2 bad usage, 77 cuobjdump is missing.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

ODD = re.compile(r"\bdesc\[UR\d*[13579]\]")
LOADS = re.compile(r"\b(LDG|LD\.E|LDGSTS|UBLKCP|UTMALDG|ATOM|RED)\b")
EARLY = {
    "thin_kernel": "the launch before it is thin_pack_kernel, which waited for all others and writes w's copy alone",
}


def objects_of(paths):
    for path in map(pathlib.Path, paths):
        yield from sorted(path.rglob("*.cu.o")) if path.is_dir() else [path]


def kernels_of(path):
    """[(name, instructions)] of the kernels of an object."""
    text = subprocess.run(["cuobjdump", "-sass", str(path)], capture_output=True, text=True).stdout
    parts = re.split(r"Function : (\S+)", text)
    return [(name, body.splitlines()) for name, body in zip(parts[1::2], parts[2::2])]


def early_loads(lines):
    waits = [i for i, line in enumerate(lines) if "ACQBULK" in line]
    return [line.strip() for line in lines[: waits[0]] if LOADS.search(line)] if waits else []


def loads_of(path):
    """[(name, loads before the wait and those by an odd descriptor)] of the kernels of an object; those of EARLY have none
    of the first kind."""
    found = []
    for name, lines in kernels_of(path):
        early = [] if any(known in name for known in EARLY) else early_loads(lines)
        found.append((name, early + [line.strip() for line in lines if ODD.search(line)]))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", metavar="PATH", help="objects, or folders of objects")
    parser.add_argument("--list", action="store_true", help="also the loads")
    options = parser.parse_args()
    if not shutil.which("cuobjdump"):
        print("waits: needs cuobjdump, of the CUDA toolkit", file=sys.stderr)
        return 77
    kernels = bad = 0
    objects = list(objects_of(options.paths))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, found in zip(objects, pool.map(loads_of, objects)):
            kernels += len(found)
            for name, loads in found:
                if not loads:
                    continue
                bad += 1
                print(f"{path.name}: {name}: {len(loads)} loads before the wait, or by an odd descriptor")
                if options.list:
                    print("\n".join("    " + load for load in loads))
    if not kernels:
        print("waits: no kernels found", file=sys.stderr)
        return 2
    print(f"{kernels} kernels, {bad} with loads that may not be")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
