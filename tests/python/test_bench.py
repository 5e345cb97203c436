#!/usr/bin/env python3
"""Tests of bench/: what needs neither a GPU nor PyTorch, and where PyTorch is installed, the sides on a CPU. Speaks
TAP.

    RIDGE_LIBRARY=build/libridge_ops.so python3 tests/python/test_bench.py
"""

import pathlib
import sys

here = pathlib.Path(__file__).resolve()
sys.path[:0] = [str(here.parents[2] / "python"), str(here.parents[2] / "bench"), str(here.parent)]

import tap  # noqa: E402
import test_overhead  # noqa: E402
import test_sides  # noqa: E402
import test_sweep  # noqa: E402

if __name__ == "__main__":
    sys.exit(not tap.run(tap.tests_of([test_sweep, test_sides, test_overhead])))
