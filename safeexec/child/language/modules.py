"""Modules that guest code has written: its own, ``__main__``, those of a plugin, and files of the workspace.

Each has a namespace and builtins of its own, is compiled by the same rules as a step, and runs when it is first
imported.

Guest code never holds the real module, but an object that `facades.sealed.own_module` makes. IMPORT_FROM falls back on
``sys.modules[f"{module.__name__}.{item}"]``, where the real modules are, and guest code chooses the names of its
modules. So ``from x import y`` and ``import x.y as z`` get an object of their own, which holds what they ask for. The
latter does for libraries, too: of what stands in a facade, where a test may have put another object, nothing is asked.
"""

from __future__ import annotations

import builtins
import importlib
import linecache
import opcode
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from types import FrameType, ModuleType
from typing import Any, Final, NamedTuple

from safeexec.child.language.builtins import NamespaceView, is_hidden, make_builtins
from safeexec.child.language.imports import make_import
from safeexec.child.language.native import builtin
from safeexec.child.language.program import GuestProgram
from safeexec.compiler.diagnostics import Rejection
from safeexec.compiler.names import RESERVED
from safeexec.compiler.rules import rules_of
from safeexec.compiler.step import compile_step
from safeexec.facades import program
from safeexec.facades.access import module_access
from safeexec.facades.build import imported
from safeexec.facades.layout import seal
from safeexec.facades.sealed import OwnModule, own_module
from safeexec.identity import exact
from safeexec.protocol.plan import LanguagePlan

_EXTENDED: Final = opcode.opmap["EXTENDED_ARG"]
_IMPORT: Final = opcode.opmap["IMPORT_NAME"]
_FROM: Final = opcode.opmap["IMPORT_FROM"]
_MISSING: Final = object()


class ModuleSource(NamedTuple):
    """Where a module comes from. `file` is its name in tracebacks; a package may be a mere folder, without a text."""

    file: str
    text: str
    is_package: bool = False
    path: str = ""
    """What its ``__file__`` says, if it is a file."""


class _AskedFor:
    """What an import statement is given: the names that it asks for, and nothing else. A module of the program may call
    something ``__class__``, which any object answers by itself.
    """

    __slots__ = ("held",)

    def __init__(self, held: dict[str, Any]) -> None:
        self.held = held

    def __getattribute__(self, name: str) -> Any:
        try:
            return _held_by(self)[name]
        except KeyError:
            raise AttributeError(name) from None


_held_by: Final = vars(_AskedFor)["held"].__get__

Find = Callable[[str], "ModuleSource | None"]
"""The source of a module (a dotted name) if it is one of the program's. May raise ImportError."""


class Modules:
    """The modules of one program by name, and the ``import`` statement that knows them."""

    def __init__(
        self,
        plan: LanguagePlan,
        shared: GuestProgram,
        find: Find,
        library: Callable[..., Any],
        *,
        knows: Callable[[str], bool],
        remember: Callable[[str, str], None],
        place: str = "",
    ) -> None:
        self._plan = plan
        self._shared = shared
        self._find = find
        self._library = library
        self._knows = knows
        """Whether the topmost name is one of the program's modules, and not of a library."""
        self._remember = remember
        self._place = place
        """Where modules are that are not there, for errors. A program with a place is a package to its modules."""
        self._loaded: dict[str, Any] = {}
        self._spaces: dict[str, dict[str, Any]] = {}
        self._loading: set[str] = set()
        self.import_ = make_import(self.statement)
        self.given: dict[str, Any] = {}
        """What every module finds in its namespace."""
        self.add_folder: Callable[[str], None] = _nowhere
        """Looks for modules in a folder, too, before anywhere else."""
        self.shadowed: Callable[[str], str | None] = _no_hint
        """A sentence for a library's module whose name a file of the program has, too."""
        self.compiling = ""
        """The module that was compiled last."""
        self.builtins: OwnModule
        """What ``import builtins`` gives: the builtins that the program has, and no others."""
        self.refusals: list[tuple[ImportError, Rejection]] = []
        """The refusal of a module's source that was last raised, and what it was made of."""

    def adopt(self, space: dict[str, Any], *names: str) -> None:
        """Let the module of these names have this namespace, builtins included: the main one, which runs elsewhere."""
        restricted = self._plan.mode != "python"
        for name in names:
            self._spaces[name] = space
            self._loaded[name] = self._shown(name, space) if restricted else sys.modules["__main__"]
        if restricted:
            self.builtins = _builtins_of(self)
            if module_access("builtins", self._plan).allowed:
                self._loaded["builtins"] = self.builtins

    def loaded(self, name: Any) -> Any:
        """The module of this dotted name if it has been imported, else None."""
        return self._loaded.get(name) if type(name) is str else None

    def spaces(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each module that the program has written and imported, and its namespace."""
        yield from list(self._spaces.items())

    def space(self, name: Any) -> dict[str, Any] | None:
        """The namespace of the module of this dotted name, if the program has written and imported it."""
        return self._spaces.get(name) if type(name) is str else None

    def names(self) -> list[str]:
        """The modules that have been imported, those of libraries too."""
        return [*self._loaded, *(imported(self._plan).keys() - self._loaded.keys())]

    def shown(self, name: Any) -> Any:
        """The module of this dotted name if it has been imported, also one of a library; else None."""
        found = self.loaded(name)
        if found is None and type(name) is str:
            return imported(self._plan).get(name)
        return found

    def by_name(self, name: str) -> Any:
        """Import a module by its dotted name and return it, as `importlib.import_module` does."""
        if not self.knows(name):
            return self._library(name, None, None, ("*",), 0)
        return self._walk(name)

    def reload(self, module: Any) -> Any:
        """Run the source of a module again, as it is now, in the same namespace. TypeError for what is no module."""
        name = next((name for name, found in self._loaded.items() if found is module), None)
        if name is None or name not in self._spaces:
            raise TypeError("reload() argument must be a module that the program has written: libraries do not change")
        self._run(name, self.source(name), self._spaces[name])
        return self._loaded[name]

    def source(self, name: str) -> ModuleSource:
        """The source of a module. Raises ModuleNotFoundError."""
        found = self._find(name)
        if found is None:
            raise self._absent(name)
        return found

    def as_refused(self, error: BaseException) -> BaseException:
        """The refusal of a module's source that this error was made of; the error itself if it was made of none."""
        return next((rejection for made, rejection in self.refusals if made is error), error)

    def knows(self, name: str) -> bool:
        """Whether the topmost package of a module is one of the program's. Its builtins are."""
        top = name.partition(".")[0]
        return top in self._loaded or self._knows(top)

    def statement(self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        """What an import statement asks."""
        if type(name) is not str:
            raise TypeError("module name must be a str")
        takes_the_last = not fromlist and "." in name and _takes_the_last(sys._getframe(2))
        if level:
            name = self._absolute(name, globals, level)
            if not name:
                return self._at_top(fromlist)
        elif not self.knows(name):
            found = self._of_library(name, globals, locals, fromlist)
            return _chain(name, self.by_name(name)) if takes_the_last and self._plan.mode != "python" else found
        leaf = self._walk(name)
        if fromlist:
            return self._picked(name, leaf, fromlist)
        return _chain(name, leaf) if takes_the_last else self._loaded[name.partition(".")[0]]

    def _of_library(self, name: str, globals: Any, locals: Any, fromlist: Any) -> Any:
        try:
            return self._library(name, globals, locals, fromlist, 0)
        except ImportError as error:
            if hint := self.shadowed(name):
                error.hint = hint  # type: ignore[attr-defined]
            raise

    def _absolute(self, name: str, globals: Any, level: int) -> str:
        """The module that a relative import names; "" for the plugin's own directory."""
        package = globals.get("__package__") if type(globals) is dict else None
        if type(package) is not str or not (package or self._place):
            raise ImportError("attempted relative import with no known parent package")
        parts = package.split(".") if package else []
        if level > len(parts) + bool(self._place):
            raise ImportError("attempted relative import beyond top-level package")
        return ".".join([*parts[: len(parts) - level + 1], *([name] if name else [])])

    def _at_top(self, fromlist: Iterable[str]) -> _AskedFor:
        """What ``from . import …`` in a module of the plugin's own directory asks for."""
        return _AskedFor({item: self._walk(item) for item in fromlist})

    def _walk(self, name: str) -> Any:
        """Load a dotted module and each package above it."""
        if not RESERVED.isdisjoint(name.split(".")):
            raise ImportError(
                f"import of {name} is refused: a part of it is a name of the interpreter's own", name=name
            )
        parent = ""
        for part in (*parents(name), name):
            if part not in self._loaded:
                self._load(part)
                if parent:
                    self._spaces[parent][part.rpartition(".")[2]] = self._loaded[part]
            parent = part
        return self._loaded[name]

    def _picked(self, name: str, leaf: Any, fromlist: Iterable[str]) -> _AskedFor:
        """An object that holds what ``from name import …`` asks for."""
        found: dict[str, Any] = {}
        for item in fromlist:
            if item == "*":
                found |= self._starred(name, leaf)
            else:
                found[item] = self._item(name, leaf, item)
        return _AskedFor(found)

    def _starred(self, name: str, leaf: Any) -> dict[str, Any]:
        """What ``from name import *`` binds, and ``__all__``, which says so."""
        names = _public(self._names(name))
        found = {}
        for item in names:
            try:
                found[item] = self._item(name, leaf, item)
            except ImportError as error:
                if error.name != name:
                    raise
                raise AttributeError(f"module {name!r} has no attribute {item!r}") from None
        return found | {"__all__": names}

    def _item(self, name: str, leaf: Any, item: str) -> Any:
        space = self._names(name)
        if not is_hidden(item):
            if (found := space.get(item, _MISSING)) is not _MISSING:
                return found
            below = f"{name}.{item}"
            if below in self._loaded or self._find(below) is not None:
                return self._walk(below)
            if "__getattr__" in space:
                try:
                    return getattr(leaf, item)
                except AttributeError:
                    pass
        part, hint = ("partially initialized module ", _CIRCULAR) if name in self._loading else ("", "")
        where = space.get("__file__") or f"module {name}"
        raise ImportError(f"cannot import name {item!r} from {part}{name!r}{hint} ({where})", name=name)

    def _names(self, name: str) -> dict[str, Any]:
        """What a module that has been imported holds: that which the program has not written is its builtins."""
        held: dict[str, Any] = vars(self._loaded[name])
        return self._spaces.get(name, held)

    def _load(self, name: str) -> None:
        source = self.source(name)
        module = ModuleType(name)
        space = vars(module)
        space.update(self.given)
        for own in ("__loader__", "__spec__"):
            del space[own]
        space["__package__"] = name if source.is_package else name.rpartition(".")[0]
        if source.path:
            space["__file__"] = source.path
        self._shared.add(name, space)
        space["__builtins__"] = self.builtins_for(space)
        self._loaded[name] = module if self._plan.mode == "python" else self._shown(name, space)
        self._spaces[name] = space
        program.add(name, module, source.file)
        try:
            self._run(name, source, space)
        except BaseException:
            self._loaded.pop(name, None)
            self._spaces.pop(name, None)
            program.remove(name)
            self._shared.remove(name, space)
            raise

    def _shown(self, name: str, space: dict[str, Any]) -> Any:
        def absence(attribute: str) -> str:
            if name in self._loading:
                return f"partially initialized module {name!r} has no attribute {attribute!r}{_CIRCULAR}"
            return f"module {name!r} has no attribute {attribute!r}"

        return own_module(
            name,
            space,
            NamespaceView(space),
            is_hidden=is_hidden,
            absence=absence,
            computed={"__file__": last_step} if name == "__main__" else {},
        )

    def builtins_for(self, space: dict[str, Any]) -> dict[str, Any]:
        """The builtins of one module."""
        if self._plan.mode == "python":
            return vars(builtins) | {"__import__": self.import_}
        return make_builtins(rules_of(self._plan), space, self.statement, self._shared)

    def _run(self, name: str, source: ModuleSource, space: dict[str, Any]) -> None:
        self._loading.add(name)
        try:
            self.run(name, source, space)
        except Rejection as rejection:
            refused = _refused(name, source.file, rejection)
            self.refusals[:] = [(refused, rejection)]
            raise refused from None
        finally:
            self._loading.discard(name)

    def run(self, name: str, source: ModuleSource, space: dict[str, Any]) -> None:
        """Compile and run the source of one module in its namespace; a mere folder has none."""
        if source.is_package and not source.path and not source.text:
            return
        self._remember(source.file, source.text)
        self.compiling = name
        compiled = compile_step(source.text, self._plan, filename=source.file, known_names=space)
        if compiled.body is not None:
            exec(compiled.body, space)
        if compiled.tail is not None:
            eval(compiled.tail, space)

    def _absent(self, name: str) -> ModuleNotFoundError:
        parent = name.rpartition(".")[0]
        why = f" in {self._place}" if self._place else ""
        if not why and parent and self._spaces.get(parent, {}).get("__package__") != parent:
            why = f"; {parent!r} is not a package"
        return ModuleNotFoundError(f"No module named {name!r}{why}", name=name)


def importlib_of(modules: Modules) -> ModuleType:
    """The `importlib` that guest code gets: import by a name that is computed, under the rules of the statement."""

    def import_module(name: str, package: str | None = None) -> Any:
        name = exact(name)
        if type(name) is not str:
            raise TypeError("the name of a module must be a str")
        if name.startswith("."):
            level = len(name) - len(name.lstrip("."))
            above = exact(package).split(".") if isinstance(package, str) else []
            if level > len(above):
                raise TypeError(f"the 'package' argument is required to import {name!r}, and long enough for its dots")
            name = ".".join([*above[: len(above) - level + 1], *([name[level:]] if name[level:] else [])])
        return modules.by_name(name)

    def reload(module: Any) -> Any:
        return modules.reload(module)

    def invalidate_caches() -> None: ...

    made = ModuleType("importlib", importlib.__doc__)
    for function in (import_module, reload, invalidate_caches):
        vars(made)[function.__name__] = builtin(function, function.__name__)
    return made


class _Builtins(MutableMapping[str, Any]):
    """The builtins that a program may name. What is written there counts in each of its modules; nothing can go."""

    def __init__(self, written: Modules) -> None:
        self._written = written

    def _tables(self) -> list[dict[str, Any]]:
        return [space["__builtins__"] for _, space in self._written.spaces()]

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._tables()[0] if name[:1] != "_")

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __getitem__(self, name: str) -> Any:
        if name[:1] == "_":
            raise KeyError(name)
        return self._tables()[0][name]

    def __setitem__(self, name: str, value: Any) -> None:
        if name not in self:
            raise AttributeError(f"module 'builtins' has no attribute {name!r}")
        for table in self._tables():
            if name in table:
                table[name] = value

    def __delitem__(self, name: str) -> None:
        raise AttributeError(f"'builtins.{name}' cannot be taken away")


def _builtins_of(written: Modules) -> OwnModule:
    table: Any = _Builtins(written)
    return own_module(
        "builtins",
        table,
        NamespaceView(table),
        is_hidden=lambda name: name[:1] == "_",
        absence=lambda name: f"module 'builtins' has no attribute {name!r}",
    )


def modules_by_name(written: Callable[[], Modules]) -> Mapping[str, Any]:
    """`sys.modules` of guest code: the program's own modules and those of libraries that it has imported."""

    class LoadedModules(MutableMapping[str, Any]):
        __slots__ = ()

        def __getitem__(self, name: str) -> Any:
            found = written().shown(name)
            if found is None:
                raise KeyError(name)
            return found

        def __iter__(self) -> Iterator[str]:
            return iter(written().names())

        def __len__(self) -> int:
            return len(written().names())

        def __setitem__(self, name: str, value: Any) -> None:
            if written().shown(name) is not value:
                raise TypeError(f"assignment to sys.modules[{name!r}] is refused: only an import adds modules")

        def __delitem__(self, name: str) -> None:
            raise TypeError(f"sys.modules[{name!r}] cannot be taken away: importlib.reload() runs a module again")

        def __repr__(self) -> str:
            return repr(dict(self))

    seal(LoadedModules)  # no module has it
    return LoadedModules()


def last_step() -> str:
    """The name of the newest source that the session has run."""
    steps = [name for name in linecache.cache if name.startswith("<step ")]
    return steps[-1] if steps else "<step 1>"


def _nowhere(path: str) -> None: ...


def _no_hint(name: str) -> str | None:
    return None


_CIRCULAR: Final = " (most likely due to a circular import)"


def _refused(name: str, file: str, rejection: Rejection) -> ImportError:
    """What an import statement raises for a module that the policy refuses, with `rule` and `hint` for the report."""
    first, *others = rejection.diagnostics
    more = f" (and {len(others)} more)" if others else ""
    refused: Any = ImportError(
        f"import of {name} is refused: {file}, line {first.line}: {first.message}{more}", name=name, path=file
    )
    refused.rule, refused.hint = first.rule, first.hint
    return refused  # type: ignore[no-any-return]


def _public(namespace: dict[str, Any]) -> list[str]:
    """The names that ``from module import *`` binds."""
    listed = namespace.get("__all__")
    if type(listed) is list or type(listed) is tuple:
        return [name for name in listed if type(name) is str]
    return [name for name in namespace if type(name) is str and name[:1] not in ("_", "<")]


def parents(name: str) -> list[str]:
    """The packages above a dotted module, the outermost first."""
    parts = name.split(".")
    return [".".join(parts[:depth]) for depth in range(1, len(parts))]


def _chain(name: str, leaf: Any) -> Any:
    """What ``import a.b.c as m`` walks down, attribute by attribute, to `leaf`."""
    _, *below = name.split(".")
    for part in reversed(below):
        leaf = _AskedFor({part: leaf})
    return leaf


def _takes_the_last(frame: FrameType) -> bool:
    """Tell whether the frame that asks has come to an ``import a.b as m``: IMPORT_FROM comes next."""
    code, at = frame.f_code.co_code, frame.f_lasti
    if code[at] != _IMPORT:  # it calls `__import__`, which gives the topmost package
        return False
    at += 2
    while code[at] == _EXTENDED:
        at += 2
    return code[at] == _FROM
