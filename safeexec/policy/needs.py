"""What a whole program would need from a policy, and the smallest policy file that grants it."""

from __future__ import annotations

import ast
from typing import Any

import msgspec

from safeexec.errors import PolicyError
from safeexec.policy.explain import Answer, Judge
from safeexec.policy.model import Policy


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
        """What the policy refuses, in the order of the program."""
        return [need for need in self.needs if not need.answer.allowed]


def needs(policy: Policy, source: str) -> Needs:
    """Everything `source` uses, judged by `policy`. Raises `PolicyError` for text that is no Python."""
    judge = Judge(policy, policy.language_plan())
    found = _judged(judge, source)
    refused = [need for need in found if not need.answer.allowed]
    changes, impossible = _grant(judge, refused)
    return Needs(needs=found, grant=_file(policy, changes) if changes else "", impossible=impossible)


def _judged(judge: Judge, source: str) -> list[Need]:
    try:
        tree = ast.parse(source)
        objections = judge.compile(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        raise PolicyError(f"the program is not valid Python{f', line {line}' if line else ''}: {error}") from None
    uses: dict[str, int] = {}
    _Uses(uses).visit(tree)
    # A module is needed for what is used of it; by itself only if nothing is.
    for module in [name for name in uses if any(other.startswith(name + ".") for other in uses)]:
        del uses[module]
    answers = {name: Need(line, judge.why(name)) for name, line in uses.items()}
    for objection in objections:
        used = objection.name in answers or any(name.startswith(objection.name + ".") for name in uses)
        if not used:
            spelling = (
                objection.name
                if objection.kind in ("module", "builtin", "construct") or "." in objection.name
                else f".{objection.name}"
            )
            answers[objection.name] = Need(objection.line, judge.why(spelling))
    return sorted(answers.values(), key=lambda need: need.line)


class _Uses(ast.NodeVisitor):
    """The modules, names of modules, and builtins that a program mentions, with the line of the first mention."""

    def __init__(self, uses: dict[str, int]) -> None:
        self.uses = uses
        self.aliases: dict[str, str] = {}

    def note(self, name: str, node: ast.AST) -> None:
        self.uses.setdefault(name, getattr(node, "lineno", 1))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.note(alias.name, node)
            self.aliases[alias.asname or alias.name.partition(".")[0]] = (
                alias.name if alias.asname else alias.name.partition(".")[0]
            )

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.module is None or node.level:
            return
        for alias in node.names:
            dotted = f"{node.module}.{alias.name}"
            self.note(node.module if alias.name == "*" else dotted, node)
            self.aliases[alias.asname or alias.name] = dotted

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = [node.attr]
        value = node.value
        while isinstance(value, ast.Attribute):
            path.append(value.attr)
            value = value.value
        if isinstance(value, ast.Name) and value.id in self.aliases:
            self.note(".".join([self.aliases[value.id], *reversed(path)]), node)
        else:
            self.generic_visit(node)


def _grant(judge: Judge, refused: list[Need]) -> tuple[dict[str, Any], list[Need]]:
    """The settings that allow what is refused, and what no setting can allow."""
    changes: dict[str, Any] = {}
    impossible = []
    for need in refused:
        name = need.answer.name
        if need.answer.kind == "builtin":
            changes.setdefault("builtins", {}).setdefault("add", []).append(name)
            if name == "open" and judge.plan.workspace == "none":
                changes.setdefault("filesystem", {})["workspace"] = "read-write"
        elif need.answer.kind == "construct":
            changes.setdefault("language", {}).setdefault("constructs", {}).setdefault("add", []).append(name)
        elif name.startswith("."):
            changes.setdefault("attributes", {}).setdefault("danger_allow", []).append(name[1:])
        elif reason := _grant_import(judge, name, changes):
            impossible.append(Need(need.line, msgspec.structs.replace(need.answer, reason=reason)))
    return changes, impossible


def _grant_import(judge: Judge, name: str, changes: dict[str, Any]) -> str:
    """Adds the line under `imports` that opens a module or a name of it; or tells why the review refuses it."""
    from safeexec.facades import tables

    module, leaf, plan = name, "", judge.plan
    while module and tables.table(module) is None:
        module, _, leaf = module.rpartition(".")
    if not module:
        return tables.module_reason(name).text
    if leaf:
        verdict = tables.judge(module, leaf)
        if not verdict.allowed:
            return verdict.reason
        if verdict.tag == "files" and plan.workspace == "none":
            changes.setdefault("filesystem", {})["workspace"] = "read-write"
            if leaf in judge.policy.imports.get(module, ()):
                return ""
    imports: dict[str, Any] = changes.setdefault("imports", {})
    if not leaf:
        imports.setdefault(module, "all")
    elif module in plan.imports:
        imports.setdefault(module, {"add": []})["add"].append(leaf)
    elif isinstance(imports.get(module), list):
        imports[module].append(leaf)
    else:
        imports[module] = [leaf]
    return ""


def _file(policy: Policy, changes: dict[str, Any]) -> str:
    """A policy file that extends `policy` with `changes`."""
    import yaml

    text = {"description": f"{policy.name}, with what one program needs.", "extends": policy.name, **changes}
    return str(yaml.safe_dump(text, sort_keys=False, width=120, default_flow_style=None, allow_unicode=True))
