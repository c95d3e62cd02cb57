"""Plugins in the child: exports that the host calls, generators that it continues.

The main module is the session's own namespace; the others are found by `ProgramModules`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any

from safeexec.engine.child.step.program import ModuleSource, ProgramLoader, ProgramModules, is_library
from safeexec.engine.policy.access import module_access, parents
from safeexec.protocol import messages as m
from safeexec.protocol.arguments import decode_call
from safeexec.protocol.values import ByFields, decode, encode
from safeexec.protocol.values.format import OPAQUE

if TYPE_CHECKING:
    from safeexec.engine.child.step.guest import Guest

WARM_UP = ""
"""The path of a call that calls nothing: in think time it touches what the next call will (`Server.warm_up`)."""
_PUBLIC = 100
"""Exports that are found without being named, and parameters of each that are described."""
_GUARD = {"__name__", "'__main__'"}
"""The two sides of a main guard."""


def modules_of(
    guest: Guest, label: str, sources: dict[str, str]
) -> tuple[ProgramModules, Callable[[str], ModuleSource]]:
    """Return the importer of one plugin's modules, and what finds their sources; the main one, whose namespace is the
    session's own, is the first of `sources`.
    """
    main = next(iter(sources))
    packages = {above for module in sources for above in parents(module)} - sources.keys()
    packages |= {name for name in sources if any(other.startswith(f"{name}.") for other in sources)}

    def source(name: str) -> ModuleSource:
        file = f"<plugin {label}>" if name == main else f"<plugin {label}:{name}>"
        return ModuleSource(file, sources.get(name, ""), is_package=name in packages)

    def is_there(name: str) -> bool:
        return name in sources or name in packages

    def find(name: str) -> ModuleSource | None:
        if name.startswith("__main__.") and is_there(below := main + name.removeprefix("__main__")):
            import_module(below)  # `from . import x` in a package asks by the name of its module, and then looks there
        return source(name) if is_there(name) else None

    tops = frozenset(name.partition(".")[0] for name in sources)
    importer = guest.language.have(find, f"the plugin (it has {', '.join(sources)})", tops)
    sys.modules[main] = guest.module
    return importer, source


def as_imported(text: str) -> str:
    """Return the text of a main module in which `__name__ == "__main__"` is false: what stands below it is for a run by
    hand. Lines and columns stay. The name itself is the one by which the language layer knows the program's own
    classes.
    """
    if "__main__" not in text:
        return text
    import ast

    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text  # it will be said when the module is compiled
    lines = text.encode("utf-8", "surrogatepass").splitlines(keepends=True)
    for node in tree.body:
        for test in ast.walk(node.test) if isinstance(node, ast.If) else ():
            if not isinstance(test, ast.Compare) or test.lineno != test.end_lineno or len(test.ops) != 1:
                continue
            sides = {ast.unparse(test.left), ast.unparse(test.comparators[0])}
            if sides == _GUARD and isinstance(test.ops[0], ast.Eq | ast.NotEq):
                line, end = lines[test.lineno - 1], test.end_col_offset or 0
                word = b"False" if isinstance(test.ops[0], ast.Eq) else b"True"
                lines[test.lineno - 1] = line[: test.col_offset] + word.ljust(end - test.col_offset) + line[end:]
    return b"".join(lines).decode("utf-8", "surrogatepass")


class LoadedPlugin:
    """The plugin that a session has loaded, as the child serves it."""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest
        self._getattr = guest.language.builtins.get("getattr", getattr)
        """As guest code has it: the author of a plugin writes the paths of its exports."""
        self._exports: list[str] = []
        self._items: Iterator[Any] | None = None
        self._by_fields = False
        """True if what the last call returns goes out as its plain data."""
        self._held: dict[int, Any] = {}
        """Results that could not cross, by the number of the call."""
        self._hold = 0
        """The number under which the result of the last call is kept if it cannot cross; 0: it is not."""

    @property
    def waits_for_calls(self) -> bool:
        """Return whether a plugin is loaded, and no generator of it is half through."""
        return bool(self._exports) and self._items is None

    def warm_up(self) -> None:
        """Look at the functions that may be called next: their pages are copied now and not then."""
        namespace = self._guest.namespace
        for name in self._exports:
            function = namespace.get(name)
            if type(function) is FunctionType:
                function.__code__  # noqa: B018  (to look is all)

    def install(self, request: m.Install) -> m.StepDone:
        """Run the main module and describe the exports."""
        guest = self._guest
        sources = {name: source.decode("utf-8", "surrogatepass") for name, source in request.modules}
        main = next(iter(sources))
        sources[main] = as_imported(sources[main])
        taken = next((name for name in sources if name != main and is_library(name.partition(".")[0])), None)
        importer, source_of = modules_of(guest, request.name, sources)
        source = source_of(main)
        guest.streams.begin()
        try:
            if taken is not None:
                raise ImportError(f"a module of the plugin may not be called {taken!r}: a library has that name")
            namespace = guest.namespace
            if request.settings:
                importer.given["settings"] = decode(request.settings)
                namespace.update(importer.given)
            namespace["__package__"] = main if source.is_package else main.rpartition(".")[0]
            if source.is_package:  # what lies below it is found as below any other package of the plugin
                namespace.update(__path__=[], __loader__=ProgramLoader(importer, source))
            importer.run(main, source, namespace)
            names = request.exports if request.exports is not None else self._public()
            self._by_fields = False
            done = self._done([self._describe(name) for name in names])
            self._exports = names
        except BaseException as error:
            module = importer.compiling or main
            file = source_of(module).file
            done = guest.refused(importer.as_refused(error), file, sources.get(module, ""))
            if done.error is not None and done.outcome == "rejected":
                done.error.file = file
                if module != main:
                    done.error.message = f"module {module}: ".encode() + done.error.message
        return done

    def _public(self) -> list[str]:
        """Return the names in `__all__`, where the module has that, else its own public functions and classes."""
        guest = self._guest
        listed: Any = guest.namespace.get("__all__")
        if type(listed) in (list, tuple) and all(type(name) is str for name in listed):
            return [name for name in listed if callable(guest.namespace.get(name))][:_PUBLIC]
        return [
            name
            for name in guest.names()
            if not name.startswith("_")
            and callable(guest.namespace[name])
            and getattr(guest.namespace[name], "__module__", None) == guest.namespace.get("__name__")
        ][:_PUBLIC]

    def _describe(self, path: str) -> dict[str, Any]:
        """Return the fields of an `Export`."""
        try:
            value = self._find(path)
        except (AttributeError, KeyError):
            return {"name": path, "kind": "missing"}
        import inspect

        code = getattr(inspect.unwrap(value) if callable(value) else value, "__code__", None)
        described = {
            "name": path,
            "kind": "class" if isinstance(value, type) else "function" if callable(value) else "other",
            "line": getattr(code, "co_firstlineno", None),
        }
        return described | _described_signature(value) if callable(value) else described

    def _find(self, path: str) -> Any:
        first, *rest = path.split(".")
        if first in self._guest.hidden:
            raise KeyError(first)
        value = self._guest.namespace[first]
        for name in rest:
            value = self._getattr(value, name)
        return value

    def invoke(self, request: m.Invoke) -> m.StepDone:
        """Call an export with values of the host."""
        guest = self._guest
        self._items = None
        self._by_fields = request.by_fields
        self._hold = request.step if request.hold else 0
        for number in request.release:
            self._held.pop(number, None)
        guest.streams.begin()
        try:
            if request.held:
                target = self._kept(request.held)
                target = self._getattr(target, request.path) if request.path else target
            elif request.path == WARM_UP:
                target = _warm_up_target
            else:
                try:
                    target = self._find(request.path)
                except KeyError:
                    raise NameError(f"name {request.path!r} is not defined") from None
            limits = guest.limits
            args, kwargs, _ = decode_call(
                request.arguments, max_bytes=limits.value_bytes, max_depth=limits.value_depth, arrays=True
            )
            places: list[Any] = list(args)
            for place, number in request.objects:  # handles that the host has of kept results
                kept = self._kept(number)
                if isinstance(place, str):
                    kwargs[place] = kept
                else:
                    places[place] = kept
            value: Any = target(*places, **kwargs)
            if hasattr(type(value), "__await__"):
                value = self._await(value)
            if hasattr(type(value), "__anext__"):
                value = self._collected(value)
            if hasattr(type(value), "__next__"):
                self._items = value
                return self._done(None, more=True)
            return self._done(value)
        except BaseException as error:
            return guest.failed(error)

    def _kept(self, number: int) -> Any:
        if number not in self._held:
            raise LookupError("this object is gone: the plugin went back to a state before it, or was loaded again")
        return self._held[number]

    def proceed(self, request: m.Proceed) -> m.StepDone:
        """Return the next item of the generator, or its end."""
        guest = self._guest
        guest.streams.begin()
        items = self._items
        self._hold = request.step if self._hold else 0
        try:
            if items is None:
                raise RuntimeError("the generator has ended")
            if not request.close:
                for value in items:
                    return self._done(value, more=True)
            self._items = None
            if request.close and hasattr(items, "close"):
                items.close()
            return self._done(None)
        except BaseException as error:
            self._items = None
            return guest.failed(error)

    def _done(self, value: Any, *, more: bool = False) -> m.StepDone:
        """Return the answer that carries a value; its repr is of no use to the host, who called a function."""
        guest, limits = self._guest, self._guest.limits
        sent = ByFields(value) if self._by_fields else value
        encoded = encode(sent, max_bytes=limits.value_bytes, max_depth=limits.value_depth, arrays=True)
        done = m.StepDone("ok", truncated=encoded.truncated, more=more)
        if self._hold and encoded.opaque and not encoded.truncated and encoded.data[:1] == OPAQUE:
            self._held[self._hold] = value
            done.held = True
        done.value, done.pending = guest.hold(encoded.data)
        guest.streams.end()
        return done

    def _await(self, value: Any) -> Any:
        """Run a coroutine to its end: on an event loop where the policy opens asyncio, else as far as it needs none."""
        from safeexec.common.coroutines import at_once

        async def main() -> Any:
            return await value

        if module_access("asyncio", self._guest.language.plan).allowed:
            import asyncio

            with asyncio.Runner() as runner:
                return runner.run(main())
        needs_loop = RuntimeError("this coroutine needs an event loop, and the policy does not open asyncio")
        return at_once(main(), needs_loop)

    def _collected(self, items: Any) -> Iterator[Any]:
        while True:
            try:
                yield self._await(items.__anext__())
            except StopAsyncIteration:
                return


def _described_signature(value: Any) -> dict[str, Any]:
    """Return the fields of an `Export` that say how it is called; none where that is not known."""
    from enum import EnumType
    from inspect import Parameter, Signature, signature

    try:
        if isinstance(value, EnumType):  # its metaclass has a signature of its own, which is for making enums
            found = Signature([Parameter("value", Parameter.POSITIONAL_OR_KEYWORD)])
        else:
            found = signature(value)
    except (TypeError, ValueError):
        return {}
    parameters, returns = m.parameters_of(found, _annotation, lambda value, _: repr(value)[:200] or "...")
    return {"parameters": parameters[:_PUBLIC], "returns": returns}


def _annotation(annotation: Any) -> str:
    """Return it as a host writes it: ``int``, ``numpy.ndarray``, ``list[str]``; a class of the plugin by its name."""
    if isinstance(annotation, str):
        return annotation
    import inspect

    return inspect.formatannotation(annotation).removeprefix("__main__.")[:200]


def _warm_up_target(number: float, x: float) -> float:
    """Return what a warm-up run calls."""
    return number * x
