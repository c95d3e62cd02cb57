"""Find what a whole program needs from a policy, and write the smallest policy file that grants it."""

from __future__ import annotations

import ast
import sys
from operator import attrgetter
from typing import Any

import msgspec

from safeexec.engine.policy import refusals
from safeexec.engine.policy.access import ANY, STDLIB, module_of
from safeexec.engine.policy.checks import is_module
from safeexec.engine.policy.edit import replaced, written
from safeexec.engine.policy.kernel import wanted
from safeexec.engine.policy.names import CONSTRUCTS, RESERVED
from safeexec.engine.policy.places import names
from safeexec.engine.policy.settings import ALL, PolicyData
from safeexec.errors import PolicyError
from safeexec.language.transformer import bound_names
from safeexec.reports.why import Answer, Judge, is_builtin
from safeexec.untrusted.source_text import costly_name

MAX_NAMES = 300
"""Names of modules and builtins that one program may use: each is judged by itself, which takes a millisecond."""
MAX_LENGTH = 1000
"""Characters of a dotted name."""
MAX_PARTS = 8
"""Parts of a dotted name that are judged; what comes behind are attributes, which the compiler judges."""


class Need(msgspec.Struct, frozen=True):
    """One name that a program uses, where it does first, and the policy's answer."""

    line: int
    answer: Answer


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """`grant`: a policy file that allows what can be allowed, or ""; `impossible`: what no file can allow."""

    needs: list[Need]
    grant: str
    impossible: list[Need]

    @property
    def refused(self) -> list[Need]:
        """Return what the policy refuses, in the order of the program."""
        return [need for need in self.needs if not need.answer.allowed]


def needs(policy: PolicyData, source: str) -> Needs:
    """Return what `source` uses, judged by `policy`. Raises `PolicyError` for text that is no Python, that is longer
    than a step of the policy, or that uses more than `MAX_NAMES` names.
    """
    if not isinstance(source, str):
        raise TypeError(f"needs() takes the text of a program as str, not {type(source).__name__}")
    size, allowed = len(source.encode("utf-8", "surrogatepass")), policy.limits.step_source_kb
    if size > allowed << 10:
        raise PolicyError(f"the program has {size} bytes; limits.step_source_kb allows {allowed} KiB")
    if costly := costly_name(source):
        raise PolicyError(f"the program holds {costly}")
    program, judge = _Mentions(source), Judge(policy)
    found = program.needs(judge)
    refused = {need.answer.name: need for need in found if not need.answer.allowed}
    useless: dict[str, Need] = {}
    while True:
        # What is granted may bring to light what stood behind it: an `async def` is a function, and async.
        changes: dict[str, Any] = {}
        never = {}
        for name, need in refused.items():
            if reason := _grant_one(policy, need.answer, changes):
                never[name] = Need(need.line, msgspec.structs.replace(need.answer, reason=reason))
        granted = replaced(policy, dict(changes)) if changes else policy
        left = {need.answer.name: need for need in program.needs(Judge(granted)) if not need.answer.allowed}
        added = {name: _answered(judge, need) for name, need in left.items() if name not in {*refused, *useless}}
        unchanged = [name for name in refused if name in left and name not in never]
        if not added and not unchanged:
            break
        for name, need in [(name, refused.pop(name)) for name in unchanged]:
            reason = left[name].answer.reason or "no setting allows it in this place"
            useless[name] = Need(need.line, msgspec.structs.replace(need.answer, reason=reason))
        found += added.values()
        refused |= added
    found.sort(key=attrgetter("line"))
    impossible = sorted([*useless.values(), *never.values()], key=attrgetter("line"))
    return Needs(needs=found, grant=_file(policy, changes) if changes else "", impossible=impossible)


def _answered(judge: Judge, need: Need) -> Need:
    """Return the same need with the answer of `judge`, if that refuses it too."""
    answer = judge.why(need.answer.name)
    return need if answer.allowed else Need(need.line, answer)


class _Mentions:
    """A program, and the names that it mentions: dotted for what comes from a module, with the line of the first."""

    def __init__(self, source: str) -> None:
        self.source = source
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise _no_python(error) from None
        # By a walk: a visitor recurses, and a long sum is as deep as it is long.
        nodes = list(ast.walk(tree))
        self.aliases: dict[str, str] = {}
        self.imported: dict[str, int] = {}
        self.builtins: dict[str, int] = {}
        for node in nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    _note(self.imported, alias.name, node)
                    top = alias.name.partition(".")[0]
                    self.aliases[alias.asname or top] = alias.name if alias.asname else top
            elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
                for alias in node.names:
                    dotted = f"{node.module}.{alias.name}"
                    _note(self.imported, node.module if alias.name == "*" else dotted, node)
                    self.aliases[alias.asname or alias.name] = dotted
        bound = bound_names(tree)
        inner = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
        for node in nodes:
            if isinstance(node, ast.Attribute) and id(node) not in inner:
                self._attribute(node)
            elif isinstance(node, ast.Name) and is_builtin(node.id) and node.id not in bound:
                _note(self.builtins, node.id, node)
        # A module is needed for what is used of it; by itself only if nothing is.
        for name in [name for name in self.imported if any(other.startswith(f"{name}.") for other in self.imported)]:
            del self.imported[name]

    def needs(self, judge: Judge) -> list[Need]:
        """Return each name with the answer of `judge`, and all else that the compiler objects to."""
        found = [Need(line, judge.imported(name)) for name, line in self.imported.items()]
        found += [Need(line, judge.why(name)) for name, line in self.builtins.items()]
        try:
            objections = judge.compile(self.source)
        except (SyntaxError, ValueError) as error:
            raise _no_python(error) from None
        refused = {need.answer.name for need in found if not need.answer.allowed}
        for objection in objections:
            if any(name == objection.name or name.startswith(f"{objection.name}.") for name in refused):
                continue
            refused.add(objection.name)
            if len(refused) > MAX_NAMES:
                raise _too_much()
            found.append(Need(objection.line, judge.about(objection)))
        return sorted(found, key=lambda need: need.line)

    def _attribute(self, node: ast.Attribute) -> None:
        path = [node.attr]
        value = node.value
        while isinstance(value, ast.Attribute):
            path.append(value.attr)
            value = value.value
        if isinstance(value, ast.Name) and value.id in self.aliases:
            _note(self.imported, ".".join([self.aliases[value.id], *reversed(path)]), node)


def _note(uses: dict[str, int], name: str, node: ast.stmt | ast.expr) -> None:
    if len(name) > MAX_LENGTH:
        raise PolicyError(f"line {node.lineno} names something in more than {MAX_LENGTH} characters")
    name = ".".join(name.split(".", MAX_PARTS)[:MAX_PARTS])
    uses[name] = min(node.lineno, uses.get(name, node.lineno))
    if len(uses) > MAX_NAMES:
        raise _too_much()


def _too_much() -> PolicyError:
    return PolicyError(f"the program uses more than {MAX_NAMES} names that a policy judges; ask for parts of it")


def _no_python(error: BaseException) -> PolicyError:
    if isinstance(error, (RecursionError, MemoryError)):
        return PolicyError("the program is nested too deeply to be read")
    line, text = getattr(error, "lineno", None), getattr(error, "msg", error)  # the whole text repeats the line
    return PolicyError(f"the program is not valid Python{f', line {line}' if line else ''}: {text}")


def _grant_one(policy: PolicyData, answer: Answer, changes: dict[str, Any]) -> str:
    """Add to `changes` what allows one name; or return why nothing does."""
    name = answer.name.removeprefix(".")
    if name in policy.attributes.refuse:
        _edit(changes, "attributes", "refuse", verb="remove").append(name)
    elif answer.kind == "builtin":
        if name in RESERVED or name in policy.builtins:
            return answer.reason or "it belongs to the interpreter"
        _edit(changes, "builtins").append(name)
        if name == "open":
            _workspace(policy, changes)
    elif answer.kind == "construct":
        if name not in CONSTRUCTS:
            return answer.reason or "nobody has judged it"
        _edit(changes, "language", "constructs").append(name)
    elif answer.name.startswith("."):
        if name in policy.attributes.danger_allow:
            return answer.reason or "it is refused in this place"
        _edit(changes, "attributes", "danger_allow").append(name)
    else:
        return _grant_import(policy, name, changes)
    return ""


def _edit(changes: dict[str, Any], *path: str, verb: str = "add") -> list[str]:
    """Return the list of names that are added or removed at a place of `changes`."""
    for key in path:
        changes = changes.setdefault(key, {})
    names: list[str] = changes.setdefault(verb, [])
    return names


def _workspace(policy: PolicyData, changes: dict[str, Any]) -> None:
    if policy.filesystem.workspace == "none":
        changes["filesystem"] = {"workspace": "read-write"}


def _grant_import(policy: PolicyData, name: str, changes: dict[str, Any]) -> str:
    """Add the line under `imports` that opens a module or a name of it; or return why that would be of no use."""
    module, leaf, _ = module_of(name)
    if not is_module(module):
        return "it is not installed; `requirements` has a package fetched when a sandbox starts"
    row = refusals.of_name(module, leaf) if leaf else refusals.of_module(module)
    if row is not None and row.tag == "files":
        _workspace(policy, changes)
        if _is_whole(policy, module):
            return ""
    elif row is not None:
        return row.text
    for setting, value in wanted(module, (leaf,) if leaf else ALL).items():
        if not attrgetter(setting)(policy):
            section, _, key = setting.rpartition(".")
            (changes.setdefault(section, {}) if section else changes)[key] = value
    imports: dict[str, Any] = changes.setdefault("imports", {})
    taken = [above for above in policy.imports if name.removeprefix(f"{above}.") in policy.imports[above].refused]
    if leaf in ("", "*"):
        imports[module] = "all"
    elif taken:
        _edit(imports, taken[0]).append(name.removeprefix(f"{taken[0]}."))
    elif imports.get(module) == "all":
        pass
    elif module in policy.imports:
        _edit(imports, module).append(leaf)
    else:
        imports.setdefault(module, []).append(leaf)
    return ""


def _is_whole(policy: PolicyData, module: str) -> bool:
    """Return whether the policy opens all of a module, by a line of its own or by a word."""
    if module in policy.imports:
        return policy.imports[module].names is None
    return ANY in policy.imports or (STDLIB in policy.imports and module.partition(".")[0] in sys.stdlib_module_names)


def _file(policy: PolicyData, changes: dict[str, Any]) -> str:
    """Return a policy file that extends `policy` with `changes`."""
    about = f"{policy.name}, with what one program needs."
    return written({"description": about, "extends": as_extended(policy), **changes})


def as_extended(policy: PolicyData) -> str:
    """Return what a file says that extends `policy`: its name, or where it is."""
    path = policy.files[0] if policy.files else ""
    return policy.name if names().get(policy.name) == path or not path.startswith("/") else path
