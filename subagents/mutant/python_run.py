"""Runs the tests of a list and tells what becomes of each: a plugin of pytest, and a program in place of unittest."""

import builtins
import json
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.realpath(os.getcwd())
with open(os.path.join(HERE, "choose.py")) as f:
    exec(f.read(), {})
builtins.__divisi__.test = "\t-"  # it loads
with open(os.path.join(HERE, "tests.json")) as f:
    WANTED = [tuple(test) for test in json.load(f)]
places = {}


def place(file, name):
    return os.path.relpath(os.path.realpath(str(file)), TOP), name


def wanted(test):
    return not WANTED or test in WANTED or (test[0], "") in WANTED


def say(state, test):
    f = os.open(os.path.join(HERE, "outcomes"), os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)
    os.write(f, ("%s\t%s\t%s\n" % (state, test[0], test[1])).encode())
    os.close(f)


def begin(test):
    say("broken", test)  # until it ends
    builtins.__divisi__.test = "\t%s\t%s" % test
    builtins.__divisi__.once.clear()


def failing(kind):
    return "failed" if kind is None or issubclass(kind, AssertionError) or kind.__name__ == "Failed" else "errored"


class Result(unittest.TextTestResult):
    def startTest(self, test):
        super().startTest(test)
        begin(of(test))

    def addSuccess(self, test):
        super().addSuccess(test)
        say("passed", of(test))

    def addFailure(self, test, err):
        super().addFailure(test, err)
        say("failed", of(test))

    def addError(self, test, err):
        super().addError(test, err)
        if isinstance(test, unittest.TestCase):
            say("errored", of(test))

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            say(failing(err[0]), of(test))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        if isinstance(test, unittest.TestCase):
            say("skipped", of(test))

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        say("skipped", of(test))

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        say("failed", of(test))


def of(test):
    file = getattr(sys.modules.get(type(test).__module__), "__file__", None) or "."
    return place(file, type(test).__qualname__ + "." + getattr(test, "_testMethodName", ""))


def flat(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test


class Runner(unittest.TextTestRunner):
    resultclass = Result

    def run(self, test):
        return super().run(unittest.TestSuite(one for one in flat(test) if wanted(of(one))))


class Loader(unittest.TestLoader):
    def _match_path(self, path, full_path, pattern):
        file = place(full_path, "")[0]
        return super()._match_path(path, full_path, pattern) and (not WANTED or any(file == test[0] for test in WANTED))


if __name__ == "__main__":
    unittest.main(module=None, testRunner=Runner, testLoader=Loader())

try:
    import pytest
except ImportError:
    pass
else:
    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(config, items):
        if "hypothesis" in sys.modules:  # the same inputs with each mutant, and none that one has found
            settings = sys.modules["hypothesis"].settings
            settings.register_profile("divisi", derandomize=True, database=None)
            settings.load_profile("divisi")
        for item in items:
            name = item.nodeid.split("::", 1)[-1].split("[")[0].replace("::", ".")
            places[item.nodeid] = place(getattr(item, "path", None) or item.fspath, name)
        gone = [item for item in items if not wanted(places[item.nodeid])]
        if gone:
            items[:] = [item for item in items if wanted(places[item.nodeid])]
            config.hook.pytest_deselected(items=gone)

    def pytest_runtest_logstart(nodeid, location):
        if nodeid in places:
            begin(places[nodeid])

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(item, call):
        report = (yield).get_result()
        test = places.get(item.nodeid)
        if test is None:
            return
        if report.failed:
            say(failing(call.excinfo.type if call.excinfo else None), test)
        elif report.skipped:
            say("skipped", test)
        elif report.when == "call":
            say("passed", test)
