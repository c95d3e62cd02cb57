"""The card: what guest code may use, short enough for a system prompt.

Nothing here is written by hand about a profile: imports and refusals are asked of the same functions that enforce them.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Container, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from safeexec.common.text import printable, shorten
from safeexec.engine.policy.access import ANY, STDLIB, WORDS, module_access
from safeexec.engine.policy.kernel import OPEN_LINE, lacks_open
from safeexec.engine.policy.names import CONSTRUCTS
from safeexec.engine.policy.requirements import coming
from safeexec.reports.why import Judge

if TYPE_CHECKING:
    from safeexec.engine.policy.settings import PolicyData
    from safeexec.protocol.plan import LanguagePlan

COMMON_NAMES = (
    *("open", "input", "eval", "exec"),
    *("os", "subprocess", "requests", "pickle", "threading", "asyncio", "sqlite3"),
    *("numpy", "pandas", "scipy", "matplotlib", "sympy", "sklearn", "torch"),
    *("numpy.load", "pandas.read_pickle", "pandas.read_sql", "os.environ", "os.system", "pandas.eval"),
)
"""Names that models reach for. The card has those that the policy refuses."""

_SQL = "sql(\"select … from df join 'file.csv' …\") gives a DataFrame; CREATE TABLE makes one"

MAX_LINE = 500
"""Characters of a signature, or of a description: what does not fit into a prompt is no help."""

EXPLAINED = ("open", "input", "requests")
"""Names whose alternative is worth its place in a prompt, when they are refused."""


class ToolCard(msgspec.Struct, frozen=True):
    """One host tool as the model sees it."""

    name: str
    signature: str
    description: str
    needs_approval: bool = False
    """True if the host is asked about each call."""

    def line(self) -> str:
        """Return what is said of it behind its signature."""
        return f"Needs approval. {self.description}".rstrip() if self.needs_approval else self.description


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a card; `render` and JSON show the same."""

    profile: str
    description: str
    python: str
    imports: list[str]
    """Modules, with the names that are open where not all of them are (``statistics (NormalDist)``)."""
    builtins: str
    constructs_refused: list[str]
    refused: list[str]
    instead: dict[str, str]
    """Refused name → what to do instead."""
    files: str
    sql: str
    """Return a sentence on how tables are queried with SQL; empty where there are none."""
    state: str
    repeatable: str
    """The part of two runs that is the same, where the policy promises it."""
    limits: dict[str, float]
    tools: list[ToolCard]


def card(policy: PolicyData, *, format: Literal["text", "markdown", "json"] = "text", tools: Any = ()) -> str:
    """Return the card of a policy and the host's tools. Raises ValueError for an unknown format."""
    content = build(policy, tools)
    if format == "json":
        return msgspec.json.format(msgspec.json.encode(content)).decode()
    if format not in ("text", "markdown"):
        raise ValueError(f"a card is text, markdown or json, not {format!r}")
    return _render(content, policy, markdown=format == "markdown")


def build(policy: PolicyData, tools: Any = ()) -> Card:
    """Return the content of the card."""
    rules = policy.tools
    described = [
        msgspec.structs.replace(tool, needs_approval=rules.needs_approval(tool.name))
        for tool in _tools(tools)
        if tool.name in rules.allow
    ]
    # A description is the policy's if it is its own: that of a file that it extends may not be true any more.
    rule, inherited = policy.origin("description"), {file.rpartition("/")[2] for file in policy.files[1:]}
    judge = Judge(policy, [tool.name for tool in described])
    plan = judge.plan
    refused, instead = _refusals(policy, judge) if plan.mode == "restricted" else ([], {})
    state, repeatable = _promises(policy)
    return Card(
        profile=_one_line(policy.name),
        description="" if rule.rpartition(":")[0] in inherited else _one_line(policy.description),
        python=f"{sys.version_info.major}.{sys.version_info.minor}",
        imports=_imports(plan, coming(policy)),
        builtins=_builtins(plan),
        constructs_refused=sorted(plan.refused_constructs),
        refused=refused,
        instead=instead,
        files=_files(policy),
        sql=_SQL if plan.has_sql and find_spec("pandas") is not None else "",
        state=state,
        repeatable=repeatable,
        limits={name: getattr(policy.limits, name) for name in _LIMITS},
        tools=described,
    )


_LIMITS = ("wall_seconds", "max_wall_seconds", "memory_mb", "output_kb", "threads")


def _promises(policy: PolicyData) -> tuple[str, str]:
    """Return what stays from step to step, and what is the same in two runs: a program needs no seeds of its own then,
    and must not wait for the clock.
    """
    undone = "a step that fails" if policy.on_error == "restore" else "a step that is stopped (time, memory)"
    state = "variables, functions and imports stay from step to step"
    if policy.on_error == "restore" or policy.checkpoints != "off":
        state += f"; {undone} is undone"
    if policy.determinism is None:
        return state, ""
    clock = policy.determinism.clock
    stands = "" if clock == "real" else f", and the clock stands at {clock} but for time.sleep()"
    return state, f"two runs print the same: random numbers are seeded with {policy.determinism.seed}{stands}"


def _imports(plan: LanguagePlan, fetched: Container[str]) -> list[str]:
    """Return what can be imported here: installed or `fetched`, and open; a submodule only where its parent is not
    named. What a word covers is said in its words.
    """
    shown = [_word(word, plan) for word in WORDS if word in plan.imports][:1]
    for module, entry in plan.imports.items():
        top = module.partition(".")[0]
        covered = ANY in plan.imports or (STDLIB in plan.imports and top in sys.stdlib_module_names)
        if module in WORDS or module.startswith("_") or (covered and entry.names is None and not entry.refused):
            continue
        if module.rpartition(".")[0] in plan.imports or (top not in fetched and find_spec(top) is None):
            continue
        if module_access(module, plan).allowed:
            refused = sorted(entry.refused)
            if entry.names is not None:
                shown.append(f"{module} ({', '.join(sorted(entry.names - entry.refused))})")
            else:
                shown.append(f"{module} (not {', '.join(refused)})" if refused else module)
    return shown


_WORDS = {ANY: "every module that is installed", STDLIB: "the standard library"}


def _word(word: str, plan: LanguagePlan) -> str:
    refused = sorted(plan.imports[word].refused)
    return f"{_WORDS[word]} (not {', '.join(refused)})" if refused else _WORDS[word]


def _builtins(plan: LanguagePlan) -> str:
    """Return the builtin functions in a sentence: what is missing, or what is there, whichever is shorter."""
    if plan.mode == "python":
        return "all of Python's"
    functions = [name for name in dir(builtins) if name.islower() and not name.startswith("_")]
    missing = [
        name for name in functions if name not in plan.builtins and name not in ("copyright", "credits", "license")
    ]
    present = [name for name in functions if name in plan.builtins]
    if len(missing) <= len(present):
        return f"all but {', '.join(missing)}" if missing else "all of Python's"
    return ", ".join(present) or "none"


def _refusals(policy: PolicyData, judge: Judge) -> tuple[list[str], dict[str, str]]:
    """Return the common names that are refused, and for some of them the hint that a refusal would give."""
    answers = {name: judge.why(name) for name in (*COMMON_NAMES, *policy.hints)}
    refused = [name for name, answer in answers.items() if not answer.allowed]
    # A refused module says enough about its names.
    explained = [name for name in refused if name in EXPLAINED or name in policy.hints]
    shown = [
        name
        for name in refused
        if answers[name].kind != "builtin" and ("." not in name or name.partition(".")[0] not in refused)
    ]
    return shown, {name: _one_line(answers[name].instead) for name in explained if answers[name].instead}


def _files(policy: PolicyData) -> str:
    limits = policy.limits
    access, read = policy.filesystem.workspace, policy.filesystem.read
    if access == "none":
        said = [] if read else ["none"]
    elif access == "read-only":
        said = ["in the current directory, read only, by relative name"]
    else:
        said = [f"in the current directory, by relative name, at most {limits.workspace_mb} MB"]
    if access != "none" and policy.language.mode == "restricted":
        said.append("`import helper` loads helper.py")
    if lacks_open(policy):
        said.append(f"`open` is refused: the policy lacks `{OPEN_LINE}`")
    return "; ".join([*said, *(f"{path} (read only)" for path in read)])


def _tools(tools: Any) -> Iterator[ToolCard]:
    """Yield functions, or a mapping of names to functions, with their signatures and docstrings: the first paragraph,
    and of a `Tool` of the host what the classes in its hints hold.
    """
    import inspect

    from safeexec.common.signatures import signature  # with `inspect`, for tools alone

    for tool in tools or ():
        # As the host names those that it is given, so does guest code call them.
        name = tool if isinstance(tools, Mapping) else getattr(tool, "name", None) or getattr(tool, "__name__", None)
        tool = tools[tool] if isinstance(tools, Mapping) else tool
        function = getattr(tool, "function", tool)
        try:
            written = signature(inspect.signature(function))
        except (TypeError, ValueError):
            written = "(...)"
        # The class of a partial describes itself, not what it calls.
        about = inspect.getdoc(function.func if isinstance(function, partial) else function) or ""
        legend = "; ".join(tool.legend().splitlines()) if hasattr(tool, "legend") else ""
        described = " ".join(filter(None, (_one_line(about.split("\n\n")[0]), _one_line(legend))))
        yield ToolCard(str(name or type(tool).__name__), _one_line(written), described)


def _one_line(text: str) -> str:
    """Return at most one line of a prompt, and nothing that a terminal obeys: the text may come from elsewhere."""
    return shorten(" ".join(printable(text).split()), MAX_LINE)


def _render(content: Card, policy: PolicyData, *, markdown: bool) -> str:
    """Return the same facts as lines of prose or as a list of Markdown."""
    limits = content.limits
    facts: list[tuple[str, str]] = []
    if policy.language.mode == "python":
        facts.append(("Python", f"{content.python}, the whole language with every installed library"))
        facts.append(("Not here", "network, new programs, files of the host"))
    else:
        facts.append(("Python", content.python + (_without(content.constructs_refused))))
        modules = ", ".join(content.imports) or "none"
        if "import" in content.constructs_refused:
            facts.append(("Modules", f"{modules}; where they are there, they are without an import, which is refused"))
        else:
            facts.append(("Imports", f"{modules}; nothing else, and nothing can be installed"))
        facts.append(("Builtins", content.builtins))
    facts.append(("Files", content.files))
    if content.sql:
        facts.append(("SQL", content.sql))
    if policy.language.mode == "restricted":
        facts.append(("Refused", ", ".join(["network", "processes", *content.refused])))
        facts += [(f"Instead of {name}", text) for name, text in content.instead.items()]
    facts.append(("State", content.state))
    if content.repeatable:
        facts.append(("Repeatable", content.repeatable))
    facts.append(("Result", "the value of the last expression is shown, and what is printed"))
    seconds = f"{limits['wall_seconds']:g} s per step (at most {limits['max_wall_seconds']:g} s if asked for)"
    facts.append(("Limits", f"{seconds}, {limits['memory_mb']:g} MB of memory, {limits['output_kb']:g} KB of output"))
    title = f"Python sandbox, profile {content.profile}{f': {content.description}' if content.description else '.'}"
    if markdown:
        lines = [f"# {title}", "", *(f"- **{name}**: {text}" for name, text in facts)]
        tools = [f"- `{tool.name}{tool.signature}`: {tool.line()}" for tool in content.tools]
        return "\n".join([*lines, *(["", "## Tools", "", *tools] if tools else [])]) + "\n"
    lines = [title, *(f"{name}: {text}." if text[-1] != "." else f"{name}: {text}" for name, text in facts)]
    tools = [f"  {tool.name}{tool.signature}  {tool.line()}".rstrip() for tool in content.tools]
    return "\n".join([*lines, *(["Tools (call them like functions):", *tools] if tools else [])]) + "\n"


_STATEMENTS = CONSTRUCTS.keys() - {"attribute", "comprehension", "f-string", "lambda", "star-import", "walrus", "yield"}


def _without(constructs: list[str]) -> str:
    if len(constructs) > 12:
        written = [name for name in CONSTRUCTS if name not in constructs]
        return f", of the language only {', '.join(written)}" if _STATEMENTS & {*written} else ", expressions only"
    return f", without {', '.join(constructs)}" if constructs else ""
