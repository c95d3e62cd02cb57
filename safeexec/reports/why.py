"""`why`: is a name allowed, by which line, through which `extends`, and what to use instead.

There is no second copy of the rules here. A builtin or an attribute is put into a tiny program and the compiler is
asked; for modules and their names `engine.policy.access` is asked, for constructs the plan, for system calls the table
that a child installs.
"""

from __future__ import annotations

import builtins
import errno
import re
import sys
from collections.abc import Collection
from keyword import iskeyword
from typing import TYPE_CHECKING, Literal, cast

import msgspec

from safeexec.common.matching import TYPING_ERRORS, nearest, suggestion
from safeexec.common.own import ast
from safeexec.engine.child.step.program import Rejection
from safeexec.engine.policy import refusals
from safeexec.engine.policy.access import allowed_names, module_access, module_of, name_access
from safeexec.engine.policy.checks import BUILTINS, is_module
from safeexec.engine.policy.kernel import child_confinement, rules
from safeexec.engine.policy.names import CONSTRUCTS, FORMAT, REFUSED_ATTRIBUTES
from safeexec.engine.policy.plans import language_plan
from safeexec.engine.policy.requirements import coming
from safeexec.engine.policy.settings import Determinism, PolicyData, Selection
from safeexec.engine.syscalls import refuse
from safeexec.engine.syscalls.numbers import numbers
from safeexec.engine.syscalls.table import group_of, rules_for
from safeexec.errors import PolicyError
from safeexec.hints.remedies import hint_for
from safeexec.hints.tables.modules import ALIASES, MODULES
from safeexec.language.diagnostics import MESSAGES
from safeexec.language.judge import compile_step
from safeexec.protocol.plan import ImportPlan, LanguagePlan
from safeexec.untrusted.source_text import costly_name

if TYPE_CHECKING:
    from safeexec.engine.child.step.program import Diagnostic

Kind = Literal["module", "attribute", "builtin", "construct", "system call", "setting", "tool", "name"]

_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*|\.\*)*\Z")
_PROBE = "probe"
_SECTIONS: dict[str, type[msgspec.Struct]] = {"determinism": Determinism} | {
    one.name: one.type for one in msgspec.structs.fields(PolicyData) if isinstance(one.default, msgspec.Struct)
}
_LISTED = ("imports.", "language.constructs.", "tools.", "hints.", "attributes.refuse.")
"""Sections in which a policy has names for keys, as `check` and `diff` write them."""
_SETTINGS = (
    *("checkpoints", "on_error", "require", "requirements"),
    *("danger_allow_executable_mappings", "danger_allow_commands"),
)
"""Settings at the top of a policy that are no names of programs, too."""


KEYWORDS: dict[str, str] = {
    "async def": "async",
    "async for": "async",
    "async with": "async",
    "await": "async",
    "def": "function",
    "return": "function",
    "del": "delete",
    "except": "try",
    "except*": "try",
    "finally": "try",
    "from": "import",
    "elif": "if",
    "else": "if",
    "case": "match",
    "yield from": "yield",
    "generator": "yield",
    **dict.fromkeys(("pass", "break", "continue", "and", "or", "not", "in", "is", "True", "False", "None"), ""),
    ":=": "walrus",
    "=": "assignment",
    "@": "decorator",
    "import *": "star-import",
    "star import": "star-import",
    "type alias": "type-alias",
    **{f"{kind} comprehension": "comprehension" for kind in ("list", "set", "dict")},
    "generator expression": "comprehension",
}
"""Keyword or other spelling → construct; an empty one is what no policy can refuse."""


def construct_of(word: str) -> str | None:
    """Return the construct that a name or a keyword stands for; None for anything else."""
    return word if word in CONSTRUCTS else KEYWORDS.get(word)


FETCHED = "it is among the `requirements`, which are fetched when a sandbox starts"


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a policy about one name."""

    name: str
    kind: Kind
    allowed: bool
    rule: str = ""
    """The line that decides: ``standard.yaml:41``."""
    through: tuple[str, ...] = ()
    """The profiles from the asked one to the one of `rule`, along `extends`."""
    reason: str = ""
    instead: str = ""
    """The remedy, as a refusal would say it."""
    value: str = ""
    """The value that the policy has for a setting."""

    def __str__(self) -> str:
        word = f"{self.value}," if self.kind == "setting" else "allowed" if self.allowed else "refused"
        path = f", through {' → '.join(self.through)}" if len(self.through) > 1 else ""
        lines = [f"{self.name} ({self.kind}): {word} by {self.rule or 'default'}{path}"]
        lines += [f"  because {self.reason}"] if self.reason else []
        lines += [f"  instead: {self.instead}"] if self.instead else []
        return "\n".join(lines)


def why(policy: PolicyData, name: str) -> Answer:
    """Return what `policy` says of a module, an attribute, a builtin, a language construct or a system call."""
    if not isinstance(name, str):
        raise TypeError(f"why() takes a name as str, such as 'os.path', not {type(name).__name__}")
    if name.endswith(".py"):
        raise PolicyError(f"{name!r} is no name: what a program needs is asked with --program, or by `Policy.needs`")
    if name in _SECTIONS:
        keys = ", ".join(f"{name}.{key}" for key in _SECTIONS[name].__struct_fields__)
        raise PolicyError(f"{name!r} is a section of a policy: ask for one of its settings, {keys}")
    judge = Judge(policy)
    answer = judge.why(name)
    if answer.kind == "name":  # also of a setting without its section
        paths = [f"{section}.{name}" for section, held in _SECTIONS.items() if name in held.__struct_fields__]
        answer = judge.why(paths[0]) if paths else answer
    if answer.allowed and answer.kind in ("module", "attribute") and answer.name.partition(".")[0] in coming(policy):
        reasons = "; ".join(filter(None, (FETCHED, answer.reason)))
        answer = msgspec.structs.replace(answer, reason=reasons)
    return answer


class Judge:
    """Answers for one policy; `plan` is what a sandbox of it will enforce, as far as that is known before requirements
    are fetched: the compiler and the importer are asked with it.
    """

    def __init__(self, policy: PolicyData, tools: Collection[str] = ()) -> None:
        self.policy = policy
        self.plan: LanguagePlan = language_plan(policy, tools)
        for module, rule in coming(policy).items():
            self.plan.imports.setdefault(module, ImportPlan(rule=rule))

    def why(self, name: str) -> Answer:
        """Return the answer for one name, as a person or model writes it (``np.load``, ``async``, ``import os``)."""
        word = _plain(name)
        if (setting := self._setting(word)) is not None:
            return setting
        called = word.endswith(")")
        word = word.partition("(")[0] if called else word
        if (imported := _imported(word)) is not None:
            return self.imported(imported)
        if is_builtin(word):
            answer = self._program(word, "builtin", word)
            if word == "input" and answer.allowed and "input" not in self.plan.builtins:
                return msgspec.structs.replace(answer, reason="a call without a standard input of the step is refused")
            return answer
        if word.startswith("syscall:") or (called and word in numbers()):
            return self._system_call(word.removeprefix("syscall:"))
        construct = construct_of(word)
        if construct is not None and word not in sys.stdlib_module_names:
            return self._construct(word, construct)
        if section := next((path for path in _LISTED if word.startswith(path)), None):
            return self.why(word.removeprefix(section))
        if not _DOTTED.match(word.lstrip(".")) or any(map(iskeyword, word.split("."))):
            raise PolicyError(
                f"{name!r} is no name: expected a module, module.name, .attribute, builtin, construct or system call"
            )
        if word.startswith("."):
            return self._attribute(word.lstrip("."))
        head, dot, rest = word.partition(".")
        head = ALIASES.get(head, head) if dot or head not in sys.stdlib_module_names else head
        word = head + dot + rest
        if head in MODULES or head in refusals.MODULES or is_module(head) or head in self.plan.imports:
            return self._dotted(word)
        if dot:
            answer = self._attribute(rest.rpartition(".")[2])
            reason = f"Python has no module {head}: it is taken for a variable of the program"
            return msgspec.structs.replace(answer, reason=reason) if answer.allowed else answer
        if word in numbers():
            return self._system_call(word)
        if word.startswith("_") or word in self.plan.refused_attributes or word in REFUSED_ATTRIBUTES:
            return self._attribute(word)
        if word in (self.policy.tools.allow.names or ()) or word in self.policy.tools.approval:
            return self._tool(word)
        return self._unknown(word)

    def imported(self, name: str) -> Answer:
        """Return the answer for what an import statement names: a module, or a name in one."""
        if not _DOTTED.match(name):
            raise PolicyError(f"{name!r} is no name that can be imported")
        return self._dotted(name, imported=True)

    def about(self, objection: Diagnostic) -> Answer:
        """Return the answer for what the compiler objects to in a program."""
        name, kind = objection.name, objection.kind
        answer = None
        if kind == "module" or "." in name:
            answer = self._dotted(name)
        elif kind == "attribute":
            answer = self._attribute(name)
        elif kind == "construct" and construct_of(name) == name:
            answer = self._construct(name, name)
        if answer is not None and not answer.allowed:
            return answer
        # Not the name alone is refused, but what the program does with it.
        reason = "" if objection.message == MESSAGES[kind].format(name) else objection.message
        shown = f".{name}" if kind == "attribute" and "." not in name else name
        return self._answer(shown, cast(Kind, kind), False, objection.rule, reason, self._hint(objection))

    def compile(self, source: str) -> list[Diagnostic]:
        """Return what the compiler objects to in `source`; nothing where it is content. SyntaxError as CPython,
        PolicyError for a name that it would take too long for: one may come of the text of a template, where it is
        written in escapes.
        """
        if costly := costly_name(source):
            raise PolicyError(f"the program holds {costly}")
        try:
            compile_step(source, self.plan, filename="<why>")
        except Rejection as rejection:
            return rejection.diagnostics
        return []

    # One kind of name each

    def _setting(self, path: str) -> Answer | None:
        """Return what the policy says for one of its settings. Raises `PolicyError` for one that is misspelt."""
        section, _, key = path.partition(".")
        if path in _SETTINGS:
            value = getattr(self.policy, path)
        elif section in _SECTIONS and key in (fields := _SECTIONS[section].__struct_fields__):
            held = getattr(self.policy, section)
            value = getattr(held, key) if held is not None else None
        elif section in _SECTIONS and "." not in key and key and (meant := suggestion(key, fields)):
            raise PolicyError(f"a policy has no setting {path!r}{meant}")
        else:
            return None
        edits: dict[str, list[str]] = {}  # the lines that changed the list which stands where the answer says
        for known, rule in self.policy.origins.items() if path in _SETTINGS and isinstance(value, tuple) else ():
            if known.startswith(f"{path}."):
                name = known.removeprefix(f"{path}.")
                edits.setdefault(f"{rule} {'adds' if name in value else 'removes'}", []).append(name)
        reason = "; ".join(f"{change} {', '.join(names)}" for change, names in edits.items())
        answer = self._answer(path, "setting", True, self.policy.origin(path), reason)
        return msgspec.structs.replace(answer, value=_shown(value))

    def _program(self, name: str, kind: Kind, source: str) -> Answer:
        """Return the compiler's answer to a program that uses nothing but `name`."""
        objections = self.compile(source)
        if objections:
            first = objections[0]
            return self._answer(name, kind, False, first.rule, instead=self._hint(first))
        listed = kind == "builtin" and self.plan.mode == "restricted"
        return self._answer(name, kind, True, self.policy.origin(f"builtins.{name}" if listed else "language.mode"))

    def _hint(self, objection: Diagnostic) -> str:
        """Return what a refusal would say to do instead."""
        return hint_for(objection.kind, objection.name, self.plan) or ""

    def _construct(self, name: str, construct: str) -> Answer:
        """Return the answer for a construct, as the plan has it; `name` is the word for it that was asked about."""
        labels = CONSTRUCTS.get(construct)  # some came with later versions
        here = not labels or any(hasattr(ast, label) for label in labels)
        reason = "" if here else f"Python {sys.version_info.major}.{sys.version_info.minor} has no such syntax"
        path = "language.mode" if self.plan.mode == "python" else f"language.constructs.{construct or name}"
        allowed = construct not in self.plan.refused_constructs
        instead = "" if allowed else hint_for("construct", construct, self.plan) or ""
        return self._answer(name, "construct", allowed, self.policy.origin(path), reason, instead)

    def _attribute(self, name: str) -> Answer:
        answer = self._program(f".{name}", "attribute", f"{_PROBE}.{name}")
        if answer.allowed and self.plan.mode == "restricted" and name in FORMAT:
            return msgspec.structs.replace(answer, reason="the fields of a template are judged, when they are known")
        return answer

    def _dotted(self, name: str, *, imported: bool = False) -> Answer:
        """Return a module, or a name in one: the longest part that is one. `imported`: by an import statement."""
        if self.plan.mode == "python":
            return self._answer(name, "module", True, self.policy.origin("language.mode"))
        module, rest, _ = module_of(name.removesuffix(".*"))
        if rest and module_access(module, self.plan).allowed:
            part = rest.partition(".")[0]
            access = name_access(module, part, self.plan)
            if imported and access.allowed and "attribute" in self.plan.refused_constructs:
                # Where no attribute can be read, `from` still imports the name. That is all that is asked here.
                objections = self.compile(f"from {module} import {part}")
                refusal = objections[0] if objections else None
                rule, hint = (refusal.rule, self._hint(refusal)) if refusal else (access.rule, "")
                return self._answer(name, "attribute", refusal is None, rule, access.reason, hint)
            return self._member(name, module, rest.split("."), access.allowed, access.rule, access.reason)
        access = module_access(module, self.plan)
        # What a refused module is called as a whole says more than the module it lies in: urllib.request, os.system.
        subject = name.removesuffix(".*") if not access.allowed else module
        reason = access.reason
        if access.allowed and "import" in self.plan.refused_constructs:
            reason = "import statements are refused; only what the host hands in of it can be used"
        return self._access(subject, "module", access.allowed, access.rule, reason)

    def _member(self, name: str, module: str, path: list[str], allowed: bool, rule: str, reason: str) -> Answer:
        """Return a name in a module; further dots are attributes of it."""
        if allowed:
            for attribute in path[1:]:
                if not (answer := self._attribute(attribute)).allowed:
                    return msgspec.structs.replace(answer, name=name)
            if objections := self.compile(f"import {module}\n{module}.{'.'.join(path)}"):
                return self._answer(name, "attribute", False, objections[0].rule, instead=self._hint(objections[0]))
        dotted = f"{module}.{path[0]}"
        if allowed and (row := refusals.of_call(module, path[0])):
            called = f"a call that is sure to run is refused ({row.text}); others fail at the kernel"
            reason = "; ".join(filter(None, (reason, called)))
        answer = self._access(dotted, "module" if dotted in MODULES else "attribute", allowed, rule, reason)
        return msgspec.structs.replace(answer, name=name)

    def _access(self, name: str, kind: Kind, allowed: bool, rule: str, reason: str) -> Answer:
        instead = ""
        if not allowed:
            rule = self.policy.origins.get(f"imports.{name}", rule)
            module = name.rpartition(".")[0]
            candidates = allowed_names(module, self.plan) if kind == "attribute" else frozenset(self.plan.imports)
            instead = hint_for(kind, name, self.plan, candidates=candidates) or ""
        return self._answer(name, kind, allowed, rule, reason, instead)

    def _system_call(self, name: str) -> Answer:
        if name not in numbers():
            raise PolicyError(f"this machine has no system call {name!r}")
        # The table that a child of this policy installs.
        rule, group = rules_for(child_confinement(self.policy)).get(name, refuse()), group_of(name)
        allowed = bool(rule.alternatives)
        written = rules(self.policy)
        reason = "" if () in rule.alternatives else "the arguments must be those that ordinary programs use"
        if not allowed and rule.error != errno.EPERM:
            reason = f"the kernel filter answers {errno.errorcode[rule.error]}, on which libraries take another call"
        elif not allowed:
            reason = f"the kernel filter keeps out the group {group!r}"
        elif group == "metadata":
            reason = "the kernel allows it where the sandbox has a root of its own, on the files of the workspace"
        elif group == "files":
            reason = "the kernel allows the paths of the workspace and of the installed libraries only"
        return self._answer(f"{name}()", "system call", allowed, written.get(group) or written["profile"], reason)

    def _tool(self, name: str) -> Answer:
        """Return a tool that the policy names."""
        reason = "the host may give a tool of this name"
        if self.policy.tools.needs_approval(name):
            reason += f", and its `approval` must allow each call ({self.policy.origin('tools.approval')})"
        return self._answer(name, "tool", name in self.policy.tools.allow, self.policy.origin("tools.allow"), reason)

    def _unknown(self, name: str) -> Answer:
        """Return the answer for no module, builtin, construct or call: a name of the program itself, as any other."""
        if (hint := self.plan.hints.get(name)) is not None:
            return self._answer(
                name, "name", True, self.policy.origin(f"hints.{name}"), "the policy has a hint for it", hint
            )
        near = nearest(name, [*dir(builtins), *self.plan.imports], worst=TYPING_ERRORS)
        meant = f"; did you mean {near[0]}?" if near else ""
        reason = f"Python has no module or builtin of this name{meant}; a program may use it as its own"
        if self.plan.mode == "restricted" and name.isidentifier():
            own = self.plan.workspace != "none"
            reason += f", or import {name}.py of its workspace" if own else f"; `import {name}` would be refused"
        answer = self._program(name, "name", name)
        return msgspec.structs.replace(answer, reason=reason) if answer.allowed else answer

    def _answer(self, name: str, kind: Kind, allowed: bool, rule: str, reason: str = "", instead: str = "") -> Answer:
        files, file = [file.rpartition("/")[2] for file in self.policy.files], rule.rpartition(":")[0]
        through = tuple(files[: files.index(file) + 1]) if file in files else ()
        return Answer(name=name, kind=kind, allowed=allowed, rule=rule, through=through, reason=reason, instead=instead)


def _shown(value: object) -> str:
    """Return the value of a setting as a policy would write it, on one line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    if isinstance(value, Selection):
        names = "all" if value.names is None else ", ".join(value.names) or "none"
        return f"{names} except {', '.join(value.refused)}" if value.refused else names
    return "not set" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _imported(text: str) -> str | None:
    """Return numpy for ``import numpy as np``, math.pi for ``from math import pi``; None for no import statement."""
    if match := re.fullmatch(r"from (\S+) import (\S+)(?: as \w+)?", text):
        return match[1] if match[2] == "*" else f"{match[1]}.{match[2]}"
    match = re.fullmatch(r"import ([\w.]+)(?: as \w+)?", text)
    return match[1] if match else None


def _plain(name: str) -> str:
    """Return pd.DataFrame for ``pd.DataFrame as Frame``, property for ``@property``, ._y for ``x._y``."""
    text = " ".join(name.split()).strip("`")
    if _imported(text) is not None:
        return text
    text = re.sub(r"(?<=\w) as \w+$", "", text)
    text = re.sub(r"^(\?|self|cls|x|obj)\.", ".", text)
    return text[1:] if re.match(r"@\w", text) else text


def is_builtin(name: str) -> bool:
    """Return whether this is a builtin that a program calls or reads, and nothing that each module has of its own."""
    own = {"True", "False", "None", "__debug__", "__doc__", "__name__", "__loader__", "__spec__"}
    return name in BUILTINS and name not in own
