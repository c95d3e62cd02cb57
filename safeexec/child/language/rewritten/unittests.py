"""`unittest`: no discovery in files, no signals, no import of what a text names but for the program's own module."""

from __future__ import annotations

from safeexec.child.language.rewritten import Rewrite

REWRITES = {
    "unittest": Rewrite(drop="load_tests"),
    "unittest.util": Rewrite(),
    "unittest.suite": Rewrite(swap={"sys.modules": "_modules"}),
    "unittest.runner": Rewrite(),
    "unittest.async_case": Rewrite(),
    "unittest.result": Rewrite(
        swap={"traceback.TracebackException(": "_Traceback("},
        put="""
class TestResult:
    def _is_relevant_tb_level(self, tb):
        return _is_library(tb)
""",
    ),
    "unittest.case": Rewrite(
        swap={"traceback.clear_frames(tb)": "pass"},
        put="""
class _AssertWarnsContext:
    def __enter__(self):
        self.warnings_manager = warnings.catch_warnings(record=True)
        self.warnings = self.warnings_manager.__enter__()
        warnings.simplefilter("always", self.expected)
        return self
""",
    ),
    "unittest.loader": Rewrite(
        drop="""
            os TestLoader.discover TestLoader._get_directory_containing_module TestLoader._get_name_from_path
            TestLoader._get_module_from_name TestLoader._match_path TestLoader._find_tests
            TestLoader._find_test_path
        """,
        swap={"__import__(": "_import_by_name("},
    ),
    "unittest.main": Rewrite(
        drop="os _convert_name",
        swap={"__import__(": "_import_by_name(", "os.path.basename(argv[0])": "argv[0].rpartition('/')[2]"},
        put="""
def _convert_name(name):
    return name


class TestProgram:
    def _do_discovery(self, argv, Loader=None):
        raise PermissionError("test discovery in files is refused: give the tests to unittest.main() or to a suite")
""",
    ),
    "unittest.signals": Rewrite(
        drop="""
            signal _InterruptHandler _results _interrupt_handler registerResult removeResult installHandler
            removeHandler
        """,
        put="""
def registerResult(result): pass
def removeResult(result): return False
def installHandler(): pass
def removeHandler(method=None): return method
""",
    ),
}

REWRITES["unittest._log"] = Rewrite(
    swap={"logging._nameToLevel.get(level, level)": "logging.getLevelNamesMapping().get(level, level)"}
)
REWRITES["unittest.mock"] = Rewrite(
    drop="builtins pkgutil from:types _builtins _CODE_ATTRS _CODE_SIG",
    swap={
        "getattr(func, '__code__', None)": "inspect.isfunction(func)",
        "pkgutil.resolve_name": "_named",
        "inspect.getattr_static(": "_getattr_static(",
    },
    put="""
from types import ModuleType, MethodType
_builtins = set()


def _named(target):
    if target == '__main__' or target.startswith('__main__.'):
        found = _program
        for part in target.split('.')[1:]:
            found = getattr(found, part)
        return found
    raise PermissionError(
        f"patch of {target!r} by a dotted name is refused: use patch.object(thing, 'name', ...), or patch.dict(mapping)"
    )


def _getattr_static(thing, name, default=None):
    for kind in (thing if isinstance(thing, type) else type(thing)).__mro__:
        if name in kind.__dict__:
            return kind.__dict__[name]
    return getattr(thing, name, default)


class AsyncMockMixin:
    def __init__(self, /, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__dict__['_is_coroutine'] = _coroutine_mark()
        self.__dict__['_mock_await_count'] = 0
        self.__dict__['_mock_await_args'] = None
        self.__dict__['_mock_await_args_list'] = _CallList()
        self.__dict__['__name__'] = 'AsyncMock'
        self.__dict__['__defaults__'] = tuple()
        self.__dict__['__kwdefaults__'] = {}
        self.__dict__['__annotations__'] = None


class _AsyncIterator:
    def __init__(self, iterator):
        self.iterator = iterator
""",
)
