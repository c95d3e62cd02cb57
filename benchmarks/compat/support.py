"""What CPython's tests import from `test.support`, as far as a program without files and processes can have it.

It is one of the modules of a program, in plain CPython and in a session alike. What needs a process, a file or the
interpreter itself skips its test in both.
"""

import contextlib
import functools
import gc
import io
import os
import re
import sys
import types
import unittest
import warnings

verbose = 0
max_memuse = 0
sysconfig = types.SimpleNamespace(get_config_var=lambda name: None)
_1G, _2G, _4G = 1 << 30, 1 << 31, 1 << 32
MAX_Py_ssize_t = sys.maxsize
NHASHBITS = sys.hash_info.width
SHORT_TIMEOUT, LONG_TIMEOUT = 30.0, 60.0
HAVE_DOCSTRINGS = True
REPO_ROOT = TEST_HOME_DIR = "/nowhere"
TESTFN = "nothing"
MS_WINDOWS = is_emscripten = is_wasi = is_jython = is_android = Py_DEBUG = has_strftime_extensions = False


class TestFailed(Exception):
    """As `test.support` has it."""


class Refused:
    """In place of what is refused: whoever reads a name of it, or calls it, hears so."""

    def __init__(self, why):
        self._why = why

    def __getattr__(self, name):
        raise PermissionError(self._why)

    def __call__(self, /, *_, **__):
        raise PermissionError(self._why)


@contextlib.contextmanager
def unless_refused():
    """For a statement of a fixture: it has no effect where it is refused."""
    try:
        yield
    except (AttributeError, PermissionError, TypeError) as error:
        if not re.search("refused|read-only|immutable", str(error)):
            raise


class _Always:
    """Compares in one way with anything."""

    def __init__(self, equal, less, greater):
        self._equal, self._less, self._greater = equal, less, greater

    def __eq__(self, other):
        return self is other if self._equal is None else self._equal

    def __ne__(self, other):
        return not self == other

    def __lt__(self, other):
        return self._less

    def __gt__(self, other):
        return self._greater and self is not other

    def __le__(self, other):
        return self._less or self is other

    def __ge__(self, other):
        return self._greater

    def __hash__(self):
        return 1


ALWAYS_EQ, NEVER_EQ = _Always(True, False, False), _Always(False, False, False)
SMALLEST, LARGEST = _Always(None, True, False), _Always(None, False, True)


def _as_it_is(test):
    return test


def _skipped(*_, **__):
    return unittest.skip("needs what a program without files and processes does not have")


def _skips(*_, **__):
    raise unittest.SkipTest("needs what a program without files and processes does not have")


cpython_only = requires_IEEE_754 = requires_docstrings = no_tracing = skip_if_pgo_task = _as_it_is
refcount_test = requires_legacy_unicode_capi = bigaddrspacetest = reap_threads = _skipped()
skip_if_buggy_ucrt_strfptime = _as_it_is
bigmemtest = run_with_tz = run_with_locale = requires_resource = requires_subprocess = requires_fork = _skipped
requires_working_threading = requires_zlib = requires_mac_ver = requires_linux_version = lambda *_, **__: _as_it_is
impl_detail = lambda *_, **__: _as_it_is  # noqa: E731
assert_python_ok = assert_python_failure = run_python_until_end = spawn_python = kill_python = wait_process = _skips
check_sizeof = calcobjsize = calcvobjsize = check__all__ = open_urlresource = findfile = temp_cwd = _skips
catch_unraisable_exception = create_empty_file = start_threads = requires = _skips
run_in_subinterp = setswitchinterval = _skips
check_sanitizer = interpreter_requires_environment = is_resource_enabled = python_is_optimized = lambda *_, **__: False


def __getattr__(name):
    """What is not here is there to be imported, and skips who calls it."""
    return _skips


def check_impl_detail(**guards):
    return guards.get("cpython", not any(guards.values()))


def load_package_tests(folder, loader, tests, pattern):
    return tests


def import_fresh_module(name, fresh=(), blocked=(), deprecated=False):
    """The module as it is: a program has no second one, in Python alone."""
    return import_module(name)


def import_module(name, deprecated=False, *, required_on=()):
    found = {}
    try:
        exec(f"import {name} as found", found)
    except ModuleNotFoundError as error:
        raise unittest.SkipTest(str(error)) from None
    return found["found"]


def gc_collect():
    for _ in range(3):
        gc.collect()


@contextlib.contextmanager
def disable_gc():
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def captured_stdout():
    return contextlib.redirect_stdout(io.StringIO())


def captured_stderr():
    return contextlib.redirect_stderr(io.StringIO())


captured_output = {"stdout": captured_stdout, "stderr": captured_stderr}.get


@contextlib.contextmanager
def _for_a_while(put, before, value):
    try:
        put(value)
        yield
    finally:
        put(before)


def set_recursion_limit(limit):
    return _for_a_while(sys.setrecursionlimit, sys.getrecursionlimit(), limit)


def infinite_recursion(max_depth=100):
    return contextlib.nullcontext()


def adjust_int_max_str_digits(digits):
    return _for_a_while(sys.set_int_max_str_digits, sys.get_int_max_str_digits(), digits)


@contextlib.contextmanager
def swap_attr(thing, name, value):
    before, had = getattr(thing, name, None), hasattr(thing, name)
    setattr(thing, name, value)
    try:
        yield before
    finally:
        setattr(thing, name, before) if had else delattr(thing, name)


@contextlib.contextmanager
def swap_item(thing, key, value):
    before, had = (thing[key], True) if key in thing else (None, False)
    thing[key] = value
    try:
        yield before
    finally:
        if had:
            thing[key] = before
        else:
            del thing[key]


def patch(test, thing, name, value):
    test.addCleanup(setattr, thing, name, getattr(thing, name))
    setattr(thing, name, value)


def check_free_after_iterating(test, iter, cls, args=()):
    freed = []

    class Watched(cls):
        def __del__(self):
            freed.append(list(iterator))

    iterator = iter(Watched(*args))
    test.assertRaises(StopIteration, next, iterator)
    gc_collect()
    test.assertEqual(freed, [[]])


def check_disallow_instantiation(test, kind, *args, **options):
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    test.assertRaisesRegex(TypeError, re.escape(f"cannot create '{name}' instances"), kind, *args, **options)


def check_syntax_error(test, statement, errtext="", *, lineno=None, offset=None):
    with test.assertRaisesRegex(SyntaxError, errtext) as raised:
        compile(statement, "<test string>", "exec")
    for wanted, found in (lineno, raised.exception.lineno), (offset, raised.exception.offset):
        test.assertIsNotNone(found)
        if wanted is not None:
            test.assertEqual(found, wanted)


def check_syntax_warning(test, statement, errtext="", *, lineno=1, offset=None):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SyntaxWarning)
        compile(statement, "<testcase>", "exec")
    test.assertEqual([one.category for one in caught], [SyntaxWarning])
    test.assertRegex(str(caught[0].message), errtext)
    test.assertEqual((caught[0].filename, caught[0].lineno), ("<testcase>", lineno or caught[0].lineno))


def ignore_warnings(*, category):
    def decorate(test):
        @functools.wraps(test)
        def wrapper(*args, **options):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", category)
                return test(*args, **options)

        return wrapper

    return decorate


@contextlib.contextmanager
def check_warnings(*filters, quiet=None):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield types.SimpleNamespace(warnings=caught)
    left = list(caught)
    for text, category in filters:
        fit = [one for one in left if re.match(text, str(one.message), re.I) and issubclass(one.category, category)]
        if not (fit or quiet):
            raise AssertionError(f"filter ({text!r}, {category.__name__}) did not catch any warning")
        left = [one for one in left if one not in fit]
    if left and filters:
        raise AssertionError(f"unhandled warning {left[0]}")


@contextlib.contextmanager
def check_no_warnings(test, message="", category=Warning, force_gc=False):
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", message, category)
        yield
    test.assertEqual(caught, [])


def check_no_resource_warning(test):
    return check_no_warnings(test, category=ResourceWarning)


save_restore_warnings_filters = warnings.catch_warnings


class EnvironmentVarGuard:
    """Puts the environment back."""

    def __enter__(self):
        self._before = dict(os.environ)
        return self

    def __exit__(self, *_):
        os.environ.clear()
        os.environ.update(self._before)

    def set(self, name, value):
        os.environ[name] = value

    def unset(self, name):
        os.environ.pop(name, None)


def join_thread(thread, timeout=SHORT_TIMEOUT):
    thread.join(timeout)


def unlink(path): ...


def threading_setup(): ...


def threading_cleanup(*_): ...


def maybe_get_event_loop_policy(): ...


import_helper = os_helper = warnings_helper = threading_helper = script_helper = types.SimpleNamespace(**globals())
