"""Read a table of hints: choose the first text whose need the policy meets.

An entry of a table is a text, or a dict of needs and texts. A need is one or several of these, separated by blanks:

    import:json          the policy lets guest code import the module
    builtin:open         the policy has the builtin
    workspace, writable  there is a workspace; it can be written
    read                 paths outside of it can be read; ``{read}`` are these
    construct:function   programs may write it
    tool:fetch           a host tool has this word in its name, or a synonym from `TOOL_WORDS`; ``{tool}`` is that tool

and an empty need is always met. So a hint never recommends what the policy would refuse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from safeexec.common.matching import quoted
from safeexec.engine.policy.access import is_here, module_access, name_access
from safeexec.engine.policy.refusals import by_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from safeexec.protocol.plan import LanguagePlan

Advice = str | dict[str, str]
"""A text, or need → text: the first whose need is met."""
READ = "Only what lies below {read} can be read here, by absolute paths; keep all else in variables."
"""Advice where a policy has no workspace, and paths to read."""

TOOL_WORDS: dict[str, tuple[str, ...]] = {
    "fetch": ("fetch", "http", "url", "web", "download", "browse", "request", "scrape", "crawl"),
    "ask": ("ask", "input", "prompt", "question"),
    "query": ("query", "sql", "database", "db_"),
    "mail": ("mail", "send", "notify", "message"),
    "shell": ("shell", "bash", "command", "execute"),
    "model": ("complete", "chat", "generate", "llm"),
}


def dotted(tables: Mapping[str, Mapping[str, Advice]]) -> dict[str, Advice]:
    """Return the tables of modules as one, by ``module.name``."""
    return {f"{module}.{name}": what for module, table in tables.items() for name, what in by_name(table).items()}


def choose(advice: Advice, plan: LanguagePlan) -> str | None:
    """Return the first text whose need `plan` meets, with ``{tool}`` filled in."""
    for need, text in ({"": advice} if isinstance(advice, str) else advice).items():
        tool = ""
        for part in need.split():
            if part.startswith("tool:"):
                words = TOOL_WORDS.get(part[5:], (part[5:],))
                tool = next((tool for tool in plan.tools if any(word in tool.lower() for word in words)), "")
                if not tool:
                    break
            elif not _meets(part, plan):
                break
        else:
            return text.replace("{tool}", tool).replace("{read}", quoted(plan.read, 3))
    return None


def importable(module: str, plan: LanguagePlan) -> bool:
    """Return whether guest code may import `module`."""
    if "import" in plan.refused_constructs:
        return False
    return module_access(module, plan).allowed and (module.partition(".")[0] in plan.imports or is_here(module))


def provides(path: str, plan: LanguagePlan) -> bool:
    """Return whether guest code may use the dotted name ``module.name`` or ``module``."""
    if "import" in plan.refused_constructs:
        return False
    module, _, name = path.rpartition(".")
    if path in plan.imports or not module or not importable(module, plan):
        return importable(path, plan)
    return name_access(module, name, plan).allowed


def provided(module: str, names: Iterable[str], plan: LanguagePlan) -> list[str]:
    """Return the `names` of `module` that guest code may use."""
    return [name for name in names if name_access(module, name, plan).allowed]


def _meets(need: str, plan: LanguagePlan) -> bool:
    kind, _, name = need.partition(":")
    if kind == "import":
        return provides(name, plan)
    if kind == "construct":
        return name not in plan.refused_constructs
    if kind == "builtin":
        return plan.mode == "python" or name in plan.builtins
    if kind == "workspace":
        return plan.workspace != "none"
    if kind == "read":
        return bool(plan.read)
    if kind == "writable":
        return plan.workspace == "read-write"
    raise ValueError(f"unknown need {need!r} in a table of hints")
