"""`doctest`: no debugger, no files. Examples are compiled as a step is."""

from __future__ import annotations

from safeexec.child.language.rewritten import Rewrite

REWRITES = {
    "doctest": Rewrite(
        drop="""
            _OutputRedirectingPdb
            pdb linecache os unittest _normalize_module _load_testfile _newline_convert _module_relative_path testfile
            DocTestCase SkipDocTestCase _DocTestSuite DocFileCase DocFileTest DocFileSuite DocTestSuite
            _unittest_reportflags set_unittest_reportflags testsource debug_src debug_script debug _test _TestClass
            __test__ if:main
        """,
        swap={
            "m = sys.modules.get('__main__')": "m = _program",
            "inspect.ismodule(": "_is_module(",
            # Class methods that a class has from a library (NamedTuple) are not the program's: passed over below.
            "val = val.__func__": "val = _function_of(val)",
        },
        put="""
class _OutputRedirectingPdb:
    def __init__(self, out): pass
    def set_continue(self): pass


def _is_module(obj):
    return obj is _program or inspect.ismodule(obj)


def _function_of(method):
    try:
        return method.__func__
    except AttributeError:
        return method


def _module_of(obj):
    if _is_module(obj):
        return obj
    name = getattr(obj, '__module__', None)
    if name is None:
        return None
    return _modules.get(name) or _others.setdefault(name, _Other(name))


class _Other:
    def __init__(self, name):
        self.__name__ = name


_others = {}


class DocTestFinder:
    def find(self, obj, name=None, module=None, globs=None, extraglobs=None):
        if name is None:
            name = getattr(obj, '__name__', None)
            if name is None:
                raise ValueError("DocTestFinder.find: name must be given "
                                 "when obj.__name__ doesn't exist: %r" % (type(obj),))
        if module is False:
            module = None
        elif module is None:
            module = _module_of(obj)
        if globs is None:
            globs = dict(module.__dict__) if _is_module(module) else {}
        else:
            globs = globs.copy()
        if extraglobs is not None:
            globs.update(extraglobs)
        if '__name__' not in globs:
            globs['__name__'] = '__main__'
        tests = []
        self._find(tests, obj, name, module, _source_lines(obj), globs, {})
        tests.sort()
        return tests

    def _from_module(self, module, object):
        if module is None:
            return True
        elif _module_of(object) is not None:
            return module is _module_of(object)
        elif inspect.isclass(object) or hasattr(object, '__module__'):
            return module.__name__ == object.__module__
        elif isinstance(object, property):
            return True
        elif hasattr(object, '__objclass__'):
            return module.__name__ == object.__objclass__.__module__
        return True

    def _find_lineno(self, obj, source_lines):
        lineno = None
        docstring = getattr(obj, '__doc__', None)
        if _is_module(obj) and docstring is not None:
            lineno = 0
        if inspect.isclass(obj) and docstring is not None:
            if source_lines is None:
                return None
            pat = re.compile(r'^\\s*class\\s*%s\\b' % re.escape(getattr(obj, '__name__', '-')))
            for i, line in enumerate(source_lines):
                if pat.match(line):
                    lineno = i
                    break
        if inspect.ismethod(obj):
            obj = obj.__func__
        if isinstance(obj, property):
            obj = obj.fget
        if inspect.isfunction(obj) and getattr(obj, '__doc__', None):
            lineno = _first_line(inspect.unwrap(obj))
        if lineno is not None:
            if source_lines is None:
                return lineno + 1
            pat = re.compile(r'(^|.*:)\\s*\\w*("|\\')')
            for lineno in range(lineno, len(source_lines)):
                if pat.match(source_lines[lineno]):
                    return lineno
        return None


class DocTestRunner:
    def run(self, test, compileflags=None, out=None, clear_globs=True):
        self.test = test
        if compileflags is None:
            compileflags = _extract_future_flags(test.globs)
        save_stdout = sys.stdout
        if out is None:
            out = save_stdout.write
        sys.stdout = self._fakeout
        self.debugger = _OutputRedirectingPdb(save_stdout)
        try:
            return self.__run(test, compileflags, out)
        finally:
            sys.stdout = save_stdout
            if clear_globs:
                test.globs.clear()
""",
    )
}
