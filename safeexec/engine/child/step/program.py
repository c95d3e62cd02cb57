"""The program of a session in plain Python: how its steps are compiled, and what it finds.

The value of a step is the value of its last expression statement, as in a notebook: `tail` is that expression's code,
`body` the code of everything before it. Each may be that of a coroutine, see `CompiledStep`.

Its own modules, parts of a plugin or files of its workspace, are ordinary ones with an ordinary spec, found by a finder
of `sys.meta_path`.

What may refuse a program before it runs comes in through `ProgramJudge` and through subclasses of `Language`
(`engine/advice.py`); here nothing is refused.
"""

from __future__ import annotations

import builtins
import re
import sys
from collections.abc import Callable, Collection, Sequence
from functools import partial
from importlib.machinery import ModuleSpec, PathFinder
from types import CodeType, ModuleType
from typing import Any, Final, NamedTuple, Protocol

from msgspec import Struct

from safeexec.common.own import ast
from safeexec.protocol.plan import LanguagePlan

TOO_DEEP: Final = "the source is nested too deeply to be compiled"


class Diagnostic(Struct, frozen=True, kw_only=True):
    """One refusal of the policy. Lines and columns count from 1; the end column is the one after the last character."""

    line: int
    column: int
    end_line: int
    end_column: int
    caret: str
    """The source line, or what is around the place in a long one, with a line of carets under it."""
    rule: str
    """The place where the policy says so: ``standard.yaml:12``."""
    message: str
    kind: str
    """module, builtin, attribute or construct."""
    name: str
    hint: str | None = None
    """Advice what to do instead, in one sentence; put in by who reports the refusal (`engine.advice.refusal_hint`)."""

    def __str__(self) -> str:
        hint = f"\nhint: {self.hint}" if self.hint else ""
        return f"line {self.line}: {self.message} ({self.rule})\n{self.caret}{hint}"


class Rejection(Exception):
    """The policy refuses a program before a line of it runs. `diagnostics` holds every violation, in source order."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = list(diagnostics)
        first = self.diagnostics[0]
        more = f" (and {len(self.diagnostics) - 1} more)" if len(self.diagnostics) > 1 else ""
        super().__init__(f"line {first.line}: {first.message}{more}")


class ProgramJudge(Protocol):
    """Judges programs before they run: by the compiled code first, by the syntax tree where that is not enough."""

    def passes(self, source: str, codes: Collection[CodeType]) -> bool:
        """Return whether the compiled code shows that nothing in it is refused."""
        ...

    def rewrite(self, source: str, trees: Sequence[ast.AST]) -> bool:
        """Rewrite the trees where the policy has it so, and return whether it did. Raises `Rejection` with all that is
        refused in them.
        """
        ...


Review = Callable[[Collection[CodeType]], "Callable[..., None] | None"]
"""Looks at the code of a program. Returns what rewrites the trees of the program, in place, or None."""


def as_it_is(codes: Collection[CodeType]) -> None:
    """Review nothing, and rewrite nothing."""


def compile_program(
    source: str, filename: str, flags: int = 0, judge: ProgramJudge | None = None, review: Review = as_it_is
) -> CompiledStep:
    """Compile a step or a module, once `judge` has taken it, and as `review` has it rewritten. `flags` are those of
    `compile`.

    Raises `Rejection`, SyntaxError as CPython does (also for null bytes and for nesting that exhausts the parser),
    ValueError for text that is no text (lone surrogates).
    """
    try:
        step = _compile_text(source, filename, flags)
        codes = () if step is None else tuple(filter(None, (step.body, step.tail)))
        accepted = step is not None and (judge is None or judge.passes(source, codes))
        rewrite = None
        if step is not None and accepted and (rewrite := review(codes)) is None:
            return step
        tree = ast.parse(source, filename)
        last = _split_tail(tree, source)
        trees = (tree,) if last is None else (tree, last)
        if rewrite is None:
            if (judge is not None and not accepted and judge.rewrite(source, trees)) or step is None:
                step = _compile_tree(tree, last, filename, flags)
            if (rewrite := review(tuple(filter(None, (step.body, step.tail))))) is None:
                return step
        rewrite(*trees)
        return _compile_tree(tree, last, filename, flags)
    except (RecursionError, MemoryError):
        raise SyntaxError(TOO_DEEP, (filename, 1, 1, None)) from None


def _compile_tree(tree: ast.Module, last: ast.Expression | None, filename: str, flags: int) -> CompiledStep:
    body = compile_code(tree, filename, "exec", flags) if tree.body else None
    return CompiledStep(body, compile_code(last, filename, "eval", flags) if last is not None else None)


def _compile_text(source: str, filename: str, flags: int) -> CompiledStep | None:
    """Compile without a syntax tree, which takes as long again, if the text itself shows where the last statement is.

    That is so when the text before the last line that is not indented, and the text from there on, are complete
    programs each: then no bracket, string or block is open between them. None means: look at the tree.
    """
    found = _LAST_STATEMENT.match(source)
    start = found.end() if found is not None else 0
    head, last = source[:start], source[start:]
    if ";" in last or '"""' in last or "'''" in last or head.endswith("\\\n") or "\r" in source or "\f" in source:
        return None
    lines_above = "\n" * head.count("\n")
    try:
        if _NO_EXPRESSION.match(last) is None:
            tail = compile_code(lines_above + last, filename, "eval", flags)
            return CompiledStep(compile_code(head, filename, "exec", flags) if head else None, tail)
        if head:
            compile_code(last, filename, "exec", flags)
        return CompiledStep(compile_code(source, filename, "exec", flags), None)
    except (SyntaxError, ValueError):
        return None  # a mistake, or not so simple after all: the parser of the whole text will say


_NO_EXPRESSION: Final = re.compile(
    r"[^\W\d]\w*\s*(?:[-+*/%&|^@]|//|\*\*|<<|>>)?=[^=]"
    r"|@|(?:assert|async|class|def|del|for|from|global|if|import|nonlocal|pass|raise|try|while|with)\b"
)
"""The beginning of a line that is no expression."""


_LAST_STATEMENT: Final = re.compile(r"(?sm).*^(?=[^\s#)\]}])")
"""All before the last line that is not blank, not indented, no comment and no closing bracket."""

compile_code: Callable[..., CodeType] = partial(compile, dont_inherit=True, optimize=0)
"""Compile text or a tree, by file name, mode and flags. The future statements of this file are not the guest's
(`dont_inherit`), and its assert statements run (`optimize`).
"""


def _split_tail(tree: ast.Module, source: str) -> ast.Expression | None:
    """Take the last expression statement off `tree`, unless a semicolon behind it says that its value is not wanted."""
    if not tree.body:
        return None
    last = tree.body[-1]
    if type(last) is not ast.Expr or (";" in source and _ends_with_semicolon(last, source)):
        return None
    tree.body.pop()
    return ast.Expression(last.value)


_LINE_ENDS: Final = re.compile(r"\r\n|\r|\n")
"""Lines as the parser counts them: a form feed ends none."""


def _ends_with_semicolon(last: ast.Expr, source: str) -> bool:
    lines = _LINE_ENDS.split(source)
    rest = lines[last.end_lineno - 1].encode()[last.end_col_offset :].decode("utf-8", "replace")  # type: ignore[operator]
    return any(line.strip(" \t\f)\\").startswith(";") for line in (rest, *lines[last.end_lineno :]) if line.strip())


class CompiledStep(Struct, eq=False):
    """The code of a step or a module: run `body` if there is one, then evaluate `tail` if there is one. Where the top
    level awaits, what `eval` makes of it is a coroutine (`inspect.CO_COROUTINE`).
    """

    body: CodeType | None
    tail: CodeType | None


class ModuleSource(NamedTuple):
    """The source of a module of the program. A package may be a mere folder, without a text."""

    file: str
    """Its name in tracebacks."""
    text: str
    is_package: bool = False
    path: str = ""
    """Its ``__file__``, if it is a file."""


Find = Callable[[str], "ModuleSource | None"]
"""The source of a module (a dotted name) if it is one of the program's. May raise ImportError."""
Compile = Callable[[str, str, dict[str, Any]], CompiledStep]
"""Source, file and namespace → code. Raises what compiling raises."""


class ProgramModules:
    """Finder and loader of the modules of one program."""

    def __init__(self, find: Find, compile: Compile, *, place: str = "") -> None:
        self.find = find
        self._compile = compile
        self.place = place
        """The place that errors name for a module that is not there. The modules of a program with one are siblings."""
        self.builtins: dict[str, Any] = {}
        """The builtins that modules of the program find; nothing: Python's own."""
        self.given: dict[str, Any] = {}
        """Variables that each of them finds in its namespace."""
        self.remember: Callable[[str, str], None] = forget_source
        """Keeps the source of a module for tracebacks, under the name of its file."""
        self.compiling = ""
        """The module that was compiled last."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        """Return the spec of a module of the program; None for all others."""
        parent = name.rpartition(".")[0]
        if parent and not isinstance(getattr(sys.modules.get(parent), "__loader__", None), ProgramLoader):
            return None
        source = self.find(name)
        if source is None:
            return None
        loader: Any = ProgramLoader(self, source)
        spec = ModuleSpec(name, loader, origin=source.path or source.file, is_package=source.is_package)
        spec.has_location = bool(source.path)
        if source.is_package and source.path:
            spec.submodule_search_locations = [source.path.rpartition("/")[0]]
        return spec

    def run(self, name: str, source: ModuleSource, space: dict[str, Any]) -> None:
        """Compile and run the source of one module in its namespace; a mere folder has none."""
        if source.is_package and not source.text:
            return
        self.remember(source.file, source.text)
        self.compiling = name
        compiled = self._compile(source.text, source.file, space)
        if compiled.body is not None:
            exec(compiled.body, space)
        if compiled.tail is not None:
            eval(compiled.tail, space)

    def as_refused(self, error: BaseException) -> BaseException:
        """Return the refusal of a module's source that this error was made of, or the error itself."""
        return error


class ProgramLoader:
    """Runs one module of the program. `importlib.abc.Loader` would cost each zygote 6 ms of imports (3.11)."""

    def __init__(self, modules: ProgramModules, source: ModuleSource) -> None:
        self._modules = modules
        self._source = source

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        modules, space, name = self._modules, vars(module), module.__name__
        space.update(modules.given)
        if modules.builtins:
            space["__builtins__"] = modules.builtins
        modules.run(name, self._source, space)

    def get_source(self, name: str) -> str:
        """Return the text, for `inspect` and `linecache`."""
        return self._source.text

    def is_package(self, name: str) -> bool:
        """Return whether it has modules below it."""
        return self._source.is_package


def is_library(top: str) -> bool:
    """Return whether a package of this name is Python's, or installed. True where that cannot be looked up."""
    if top in sys.stdlib_module_names or top in sys.modules:
        return True
    try:
        return PathFinder.find_spec(top) is not None
    except Exception:
        return True


def forget_source(file: str, source: str) -> None:
    """Keep nothing, in the place of a `remember`."""


class Language:
    """The language that guest code is written in: built once per plan, installed into the guest's namespace."""

    flags: int = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    """The flags with which `compile` compiles a step."""
    judge: ProgramJudge | None = None
    """Judges a step before it runs; None: nothing does."""

    def __init__(self, plan: LanguagePlan) -> None:
        self.plan = plan
        self.builtins: dict[str, Any] = vars(builtins)
        self.modules: ProgramModules | None = None
        """The finder of the program's own modules, where they are not CPython's to find."""
        self.remember: Callable[[str, str], None] = forget_source
        """Keeps the source of a module for tracebacks, under the name of its file."""
        self.unseen: list[tuple[Exception, int]] = []
        """Refusals in whose place the program got a default, and their lines. Who reports them empties it."""

    def install(self, namespace: dict[str, Any]) -> None:
        """Make `namespace` (the dict of the guest's `__main__`) the one that this language runs in."""
        namespace.setdefault("__name__", "__main__")
        # The zygote runs without `site`, which gives programs these two.
        self.builtins.update(exit=leave, quit=leave)
        namespace["__builtins__"] = self.builtins

    def have(self, find: Find, place: str, names: frozenset[str]) -> ProgramModules:
        """Let the program be a plugin's modules: `names`, which `find` gives the sources of."""
        return self.adopt(ProgramModules(find, lambda source, file, space: compile_program(source, file), place=place))

    def adopt(self, modules: ProgramModules) -> ProgramModules:
        """Have these find what the program imports. Returns them."""
        self.modules = modules
        modules.remember = lambda file, source: self.remember(file, source)
        sys.meta_path.insert(0, modules)  # before all others: `find` knows which names are libraries'
        return modules

    def watch_builtins(self) -> None:
        """Let what the program writes to the module `builtins` count in the program, from now on."""

    def shadowed(self, name: str) -> str | None:
        """Return the hint for a library's module whose name a file of the workspace has, too."""
        return None

    def close_paths(self, is_closed: Callable[[str], bool]) -> None:
        """Refuse to open, before a step runs, the paths for which `is_closed` is true."""

    def judge_with_input(self) -> ProgramJudge | None:
        """Return the judge of a step that may read its standard input."""
        return self.judge


def leave(code: object = None, /) -> None:
    """Leave the step: `exit` and `quit` as `site` defines them."""
    raise SystemExit(code)
