"""Tells how tests went as TAP."""
import unittest


class Tap(unittest.TestResult):
    said = 0  # the last test of which a part failed

    def say(self, test, word="ok", note=""):
        print(f"{word} {self.testsRun} - {test.id().removeprefix('__main__.')}{note}", flush=True)

    def addSuccess(self, test):
        self.say(test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"ok {self.testsRun} - {type(test).__name__} # SKIP {reason}", flush=True)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is None:
            return
        print(subtest._subDescription(), (self.failures if issubclass(error[0], test.failureException) else self.errors)[-1][1])
        if self.testsRun != self.said:  # the first of the test's
            self.said = self.testsRun
            self.say(test, "not ok")

    def addFailure(self, test, error):
        super().addFailure(test, error)
        print(self.failures[-1][1])
        self.say(test, "not ok")

    def addError(self, test, error):
        super().addError(test, error)
        print(self.errors[-1][1])
        self.say(test, "not ok")


def tests_of(modules):
    """All tests of the modules' cases; of a case that is skipped only one, so that what is missing is said once."""
    tests = unittest.TestSuite()
    for module in modules:
        for case in unittest.defaultTestLoader.loadTestsFromModule(module):
            found = list(case)
            tests.addTests(found[:1] if found and getattr(type(found[0]), "__unittest_skip__", False) else found)
    return tests


def run(tests):
    print(f"1..{tests.countTestCases()}")
    return tests.run(Tap()).wasSuccessful()
