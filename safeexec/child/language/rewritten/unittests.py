"""`unittest`: discovery in the workspace alone, no signals; a text names modules that the program may import.

What `patch` puts in a module of a library goes into the facade (`facades.sealed.replace_name`), and what it puts among
the builtins into those of the program: the program alone finds it there. Libraries, and safeexec itself, read the real
modules, which no program can write.
"""

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
            TestLoader._get_directory_containing_module TestLoader._get_name_from_path
            TestLoader._get_module_from_name TestLoader._match_path TestLoader._find_tests
            TestLoader._find_test_path
        """,
        swap={"__import__(": "_import_by_name("},
        put="""
class TestLoader:
    def discover(self, start_dir, pattern='test*.py', top_level_dir=None):
        if top_level_dir is None:
            top_level_dir = start_dir
        if '/' not in start_dir and not os.path.isdir(start_dir):
            start_dir = start_dir.replace('.', '/') or '.'
        start, top = os.path.normpath(start_dir), os.path.normpath(top_level_dir)
        if os.path.isabs(start):
            start = os.path.relpath(start)
        if os.path.isabs(top):
            top = os.path.relpath(top)
        if not os.path.isdir(start):
            raise ImportError('Start directory is not importable: %r' % start_dir)
        if start.startswith('..') or top.startswith('..'):
            raise ImportError('Start directory is not in the workspace: %r' % start_dir)
        if top != '.' and start != top and not start.startswith(top + '/'):
            raise ImportError('Start directory is not below the top level: %r' % start_dir)
        if start != top and not os.path.isfile(os.path.join(start, '__init__.py')):
            raise ImportError('Start directory is not importable: %r' % start_dir)
        _add_folder(top)
        return self.suiteClass(list(self._discovered(start, top, pattern)))

    def _discovered(self, folder, top, pattern):
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            dotted = os.path.relpath(os.path.splitext(path)[0], top).replace('/', '.')
            if os.path.isfile(path):
                if not VALID_MODULE_NAME.match(name) or not fnmatch(name, pattern):
                    continue
                module = self._imported(dotted)
                if module[1] is not None:
                    yield module[1]
                else:
                    yield self.loadTestsFromModule(module[0], pattern=pattern)
            elif os.path.isdir(path) and os.path.isfile(os.path.join(path, '__init__.py')):
                module = self._imported(dotted)
                if module[1] is not None:
                    yield module[1]
                    continue
                load_tests = getattr(module[0], 'load_tests', None)
                if load_tests is not None or fnmatch(name, pattern):
                    yield self.loadTestsFromModule(module[0], pattern=pattern)
                if load_tests is None:
                    yield from self._discovered(path, top, pattern)

    def _imported(self, name):
        try:
            _import_by_name(name)
        except case.SkipTest as skipped:
            return None, _make_skipped_test(name, skipped, self.suiteClass)
        except Exception:
            test, error = _make_failed_import_test(name, self.suiteClass)
            self.errors.append(error)
            return None, test
        return _modules.get(name), None
""",
    ),
    "unittest.main": Rewrite(
        drop="os _convert_name",
        put="""
def _convert_name(name):
    return name[:-3].replace('/', '.') if name.endswith('.py') else name
""",
        swap={"__import__(": "_import_by_name(", "os.path.basename(argv[0])": "argv[0].rpartition('/')[2]"},
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
        "original = getattr(target, name, DEFAULT)": "original, local = _original(target, name)",
        "isinstance(target, ModuleType)": "hasattr(target, '__name__')",
        "inspect.getattr_static(": "_getattr_static(",
        "getattr(spec, attr, None)": "_shown(spec, attr)",
        "getattr(obj, '__func__')": "_shown(obj, '__func__') or obj",
        "_callable(obj.__func__)": "True",
    },
    put="""
from types import ModuleType, MethodType
_builtins = set(dir(_program_builtins))


def _named(target):
    parts = target.split('.')
    found = _modules.get(parts[0])
    if found is None:
        found = _program_builtins if parts[0] == 'builtins' else _import_by_name(parts[0])
    for depth, part in enumerate(parts[1:], 2):
        if not hasattr(found, part):
            try:
                _import_by_name('.'.join(parts[:depth]))
            except ImportError:
                pass
        found = getattr(found, part)
    return found


def _original(target, name):
    if not _is_facade(target):
        return getattr(target, name, DEFAULT), False
    try:
        return getattr(target, name), True
    except AttributeError as error:
        if ' is refused' in str(error):
            raise error from None
        return DEFAULT, True


def _shown(spec, name):
    # `dir` of a library's function also lists what is refused; a refusal does not ask for the default.
    try:
        return getattr(spec, name, None)
    except AttributeError:
        return None


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
