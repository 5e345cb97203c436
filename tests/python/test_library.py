"""Where the library is looked for, and what is said when it is not there: each in an interpreter of its own."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import ridge
from ridge import _library

PACKAGE = pathlib.Path(ridge.__file__).resolve().parent


class Lookup(unittest.TestCase):
    def in_a_child(self, code, package=PACKAGE.parent, **environment):
        given = {k: v for k, v in os.environ.items() if k != "RIDGE_LIBRARY"} | environment | {"PYTHONPATH": str(package)}
        child = subprocess.run([sys.executable, "-B", "-c", code], env=given, capture_output=True, text=True, timeout=60)
        self.assertEqual(child.returncode, 0, child.stderr)
        return child.stdout

    SAY = "import ridge\ntry: ridge.Context(1)\nexcept ridge.Error as e: print(e)\nelse: print('found')"

    def test_a_library_that_is_named_but_missing(self):
        said = self.in_a_child(self.SAY, RIDGE_LIBRARY="/nowhere/lib.so")
        self.assertRegex(said, "RIDGE_LIBRARY is /nowhere/lib.so, which is not a file.*make build")
        self.assertEqual(said.count("\n"), 1)

    def test_a_library_that_is_none(self):
        with tempfile.NamedTemporaryFile(suffix=".so") as file:
            self.assertRegex(self.in_a_child(self.SAY, RIDGE_LIBRARY=file.name), f"{file.name} cannot be loaded: ")

    def test_no_library_anywhere(self):
        with tempfile.TemporaryDirectory() as folder:
            there = pathlib.Path(folder, "a", "b")
            self.copy_package(there)
            said = self.in_a_child(self.SAY, package=there)
            for place in (there / "ridge", pathlib.Path(folder, "a", "build")):
                self.assertIn(str(place.resolve() / _library.NAME), said)
            self.assertRegex(said, "make build.*RIDGE_LIBRARY")

    def test_a_library_beside_the_package(self):
        with tempfile.TemporaryDirectory() as folder:
            self.copy_package(pathlib.Path(folder))
            (pathlib.Path(folder) / "ridge" / _library.NAME).symlink_to(_library.library()._name)
            self.assertEqual(self.in_a_child(self.SAY, package=folder), "found\n")

    def test_the_version_is_the_library_s(self):
        self.assertRegex(ridge.__version__, r"^\d+\.\d+\.\d+$")
        header = PACKAGE.parents[1] / "include" / "ridge" / "version.h"
        if header.exists():
            numbers = re.findall(r"#define RIDGE_VERSION_[A-Z]+ (\d+)", header.read_text())
            self.assertEqual(ridge.__version__, ".".join(numbers))

    def test_targets_are_those_that_apply_takes(self):
        targets = ridge.targets()
        self.assertEqual(list(targets), sorted(targets))
        self.assertTrue(all(targets.values()))
        with self.assertRaisesRegex(ridge.Error, "no target .no_such_target."):
            ridge.apply("no_such_target", [], [])
        for name in targets:  # known, and refused for what it was given
            with self.assertRaisesRegex(ridge.Error, f"^{name} takes "):
                ridge.apply(name, [], [])

    def test_nothing_is_loaded_before_its_use(self):
        code = "import ridge\nfrom ridge import _library\nprint(_library.library.cache_info().currsize, ridge.__doc__[:5])"
        self.assertEqual(self.in_a_child(code, RIDGE_LIBRARY="/nowhere"), "0 ridge\n")
        with self.assertRaisesRegex(AttributeError, "no attribute 'nothing'"):
            ridge.nothing

    @staticmethod
    def copy_package(folder):
        (folder / "ridge").mkdir(parents=True)
        for file in PACKAGE.glob("*.py"):
            (folder / "ridge" / file.name).write_text(file.read_text())
