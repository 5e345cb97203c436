#!/usr/bin/env python3
"""All tests of the Python binding. Speaks TAP.

    RIDGE_LIBRARY=build/libridge_ops.so python3 tests/python/test_binding.py

They run on stand-ins for PyTorch's tensors and for other libraries' arrays, which need nothing but Python, and on PyTorch
(CPU and GPU), NumPy and JAX where these are installed.
"""
import pathlib
import sys

here = pathlib.Path(__file__).resolve()
sys.path[:0] = [str(here.parents[2] / "python"), str(here.parent)]

import tap  # noqa: E402
import test_calls  # noqa: E402
import test_dlpack  # noqa: E402
import test_fork  # noqa: E402
import test_library  # noqa: E402
import test_out  # noqa: E402
import test_refusals  # noqa: E402
import test_ways  # noqa: E402

if __name__ == "__main__":
    modules = [test_calls, test_ways, test_out, test_dlpack, test_refusals, test_fork, test_library]
    sys.exit(not tap.run(tap.tests_of(modules)))
