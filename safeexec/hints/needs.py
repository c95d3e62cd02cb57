"""Read a table of hints: choose the first text whose need the policy meets.

An entry of a table is a text, or a dict of needs and texts. A need is one or several of these, separated by blanks:

    import:json          the policy lets guest code import the module
    builtin:open         the policy has the builtin
    workspace, writable  there is a workspace; it can be written
    tool:fetch           a host tool has this word in its name, or a synonym from `TOOL_WORDS`; ``{tool}`` is that tool

and an empty need is always met. So a hint never recommends what the policy would refuse.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar

from safeexec.engine.policy.access import module_access, name_access

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from safeexec.protocol.plan import LanguagePlan

Advice = str | dict[str, str]
"""A text, or need → text: the first whose need is met."""

TOOL_WORDS: dict[str, tuple[str, ...]] = {
    "fetch": ("fetch", "http", "url", "web", "download", "browse", "request", "scrape", "crawl"),
    "ask": ("ask", "input", "prompt", "question"),
    "query": ("query", "sql", "database", "db_"),
    "mail": ("mail", "send", "notify", "message"),
    "shell": ("shell", "bash", "command", "execute"),
    "model": ("complete", "chat", "generate", "llm"),
}


_What = TypeVar("_What")


def by_name(table: Mapping[str, _What]) -> dict[str, _What]:
    """Return a table by single names: its keys are one or several names, separated by blanks."""
    return {name: what for names, what in table.items() for name in names.split()}


def dotted(tables: Mapping[str, Mapping[str, _What]]) -> dict[str, _What]:
    """Return the tables of modules as one, by ``module.name``."""
    return {f"{module}.{name}": what for module, table in tables.items() for name, what in by_name(table).items()}


def choose(advice: Advice, plan: LanguagePlan) -> str | None:
    """Return the first text whose need `plan` meets, with ``{tool}`` filled in."""
    for need, text in ({"": advice} if isinstance(advice, str) else advice).items():
        tool = ""
        for part in need.split():
            if part.startswith("tool:"):
                tool = tool_for(part[5:], plan)
                if not tool:
                    break
            elif not _meets(part, plan):
                break
        else:
            return text.replace("{tool}", tool)
    return None


def importable(module: str, plan: LanguagePlan) -> bool:
    """Tell whether guest code may import `module`."""
    if "import" in plan.refused_constructs:
        return False
    return module_access(module, plan).allowed and (module.partition(".")[0] in plan.imports or is_here(module))


def is_here(module: str) -> bool:
    """Tell whether the package of this module is installed here. A policy's word for many modules does not tell."""
    top = module.partition(".")[0]
    if top in sys.modules or top in sys.stdlib_module_names:
        return True
    try:
        return find_spec(top) is not None
    except (ImportError, ValueError):
        return False


def provides(path: str, plan: LanguagePlan) -> bool:
    """Tell whether guest code may use the dotted name ``module.name`` or ``module``."""
    if "import" in plan.refused_constructs:
        return False
    module, _, name = path.rpartition(".")
    if path in plan.imports or not module or not importable(module, plan):
        return importable(path, plan)
    return name_access(module, name, plan).allowed


def provided(module: str, names: Iterable[str], plan: LanguagePlan) -> list[str]:
    """Return the `names` of `module` that guest code may use."""
    return [name for name in names if name_access(module, name, plan).allowed]


def has_builtin(name: str, plan: LanguagePlan) -> bool:
    """Tell whether guest code has the builtin `name`."""
    return plan.mode == "python" or name in plan.builtins


def tool_for(purpose: str, plan: LanguagePlan) -> str:
    """Return the host tool whose name says that it serves `purpose` (a key of `TOOL_WORDS`), or an empty string."""
    words = TOOL_WORDS.get(purpose, (purpose,))
    return next((tool for tool in plan.tools if any(word in tool.lower() for word in words)), "")


def _meets(need: str, plan: LanguagePlan) -> bool:
    kind, _, name = need.partition(":")
    if kind == "import":
        return provides(name, plan)
    if kind == "builtin":
        return has_builtin(name, plan)
    if kind == "workspace":
        return plan.workspace != "none"
    if kind == "writable":
        return plan.workspace == "read-write"
    raise ValueError(f"unknown need {need!r} in a table of hints")
