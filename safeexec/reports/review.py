"""Review a policy: find names that the installed modules do not have, and settings of little use."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from operator import attrgetter

import msgspec

from safeexec.common.matching import Suggestions
from safeexec.engine.policy import refusals
from safeexec.engine.policy.access import WORDS, name_access
from safeexec.engine.policy.checks import is_hinted, is_module, lacking_part
from safeexec.engine.policy.kernel import OPEN_LINE, lacks_open, wanted
from safeexec.engine.policy.loader import Mistake
from safeexec.engine.policy.names import REFUSED_ATTRIBUTES
from safeexec.engine.policy.places import names, stem
from safeexec.engine.policy.requirements import coming
from safeexec.engine.policy.settings import PolicyData
from safeexec.protocol.plan import LanguagePlan
from safeexec.reports.why import Judge


class PolicyFinding(msgspec.Struct, frozen=True):
    """One thing to know about a policy. A harmless one needs no change: a module that is allowed, but not installed."""

    rule: str
    path: str
    text: str
    harmless: bool = False
    news: bool = False
    """A harmless one that an upgrade of this package brings, and that no change of the file answers."""

    def __str__(self) -> str:
        place = f"{self.path}: " if self.path else ""
        return f"{self.rule}: {'note: ' if self.harmless else ''}{place}{self.text}"


def review(policy: PolicyData) -> list[PolicyFinding]:
    """Return what the policy mentions and cannot open, or need not close; what it opens to little use; unread hints."""
    judge = Judge(policy)
    meant = Suggestions()
    restricted = (
        _modules(policy, judge.plan, meant),
        _settings(policy),
        _attributes(policy, meant),
        _hints(policy, judge),
    )
    parts = () if policy.language.mode == "python" else restricted
    return [*_whole(policy), *(finding for part in parts for finding in part), *_paths(policy)]


def _finding(policy: PolicyData, path: str, text: str, *, harmless: bool = False) -> PolicyFinding:
    return PolicyFinding(policy.origin(path), path, text, harmless)


def _whole(policy: PolicyData) -> Iterator[PolicyFinding]:
    """Yield what is said of the policy as a whole, and of what policies for an earlier release say."""
    restricted = policy.language.mode == "restricted"
    if restricted and not policy.builtins:  # most that open none have forgotten their `extends`
        what = "no builtin" if policy.imports else "no builtin and no import"
        text = f"{what} is open; `extends: standard`, for one, opens the usual ones"
        rule = policy.origin("builtins") or (os.path.basename(policy.files[0]) if policy.files else policy.name)
        yield PolicyFinding(rule, "builtins", text, harmless=True)
    elif (
        restricted
        and len(policy.files) > 1
        and "Exception" not in policy.builtins
        and _is_own(policy.origin("builtins"), policy)
    ):
        text = "a list takes the place of what is inherited; `{add: [...]}` adds to it"
        yield _finding(policy, "builtins", text, harmless=True)
    shipped = names(shipped=True)
    for base in [stem(file) for file in policy.files[1:] if restricted and file == shipped.get(stem(file))]:
        pinned = f"{base}-0.9"
        if pinned in shipped:
            text = (
                f"{base} opens more modules than in 0.9: `policy diff --since 0.9` shows which; "
                f"`extends: {pinned}` keeps the list"
            )
            yield PolicyFinding(policy.origin("extends") or policy.name, "extends", text, harmless=True, news=True)
            break
    if policy.checkpoints == "off" and policy.on_error == "restore":
        text = "with `checkpoints: off` nothing is kept to go back to, so what a step did that raises stays"
        yield _finding(policy, "on_error", text)
    for path, text in _OLD.items():
        if (rule := policy.origin(path)) and _is_own(rule, policy) and getattr(policy, path, True):
            yield PolicyFinding(rule, path, text, harmless=True)


_OLD = {
    "danger_allow_executable_mappings": "it has no effect any more: libraries map what they need where `imports` "
    "opens any besides Python's own",
    "danger_allow_modules": "its modules are lines of `imports` now: `imports: {name: all}`",
}


def _modules(policy: PolicyData, plan: LanguagePlan, meant: Suggestions) -> Iterator[PolicyFinding]:
    fetched, edits = coming(policy), _edits(policy)
    for module, chosen in policy.imports.items():
        path, rule = f"imports.{module}", policy.origin(f"imports.{module}")
        parts = chosen.refused if module in WORDS else ()  # what a line with `none` leaves out of it, too
        for name, place in ((module, rule), *((part, policy.origin(f"{path}.{part}")) for part in parts)):
            top = name.partition(".")[0]
            if not _is_own(place, policy) or top in fetched or top in sys.stdlib_module_names:
                continue  # a slip of the standard library is a mistake, and reported as one
            absent = "" if name in parts else "the module is not installed"
            if lacking := lacking_part(name, meant) if is_module(name) else absent:
                yield PolicyFinding(place, f"imports.{name}", lacking, harmless=True)
        if (row := refusals.of_module(module)) is not None:
            yield PolicyFinding(rule, path, f"it can be imported, but {row.text}", harmless=True)
        written = [*(chosen.names or ())]
        if chosen.names is None and module not in WORDS:  # what `add` writes to it shows in no selection
            written = edits[path]
        for name in dict.fromkeys(written):
            row = refusals.of_name(module, name)
            if row is not None and not name_access(module, name, plan).allowed:
                yield _finding(policy, f"{path}.{name}", f"it stays refused: {row.text}")
            elif module.partition(".")[0] in sys.stdlib_module_names and (there := _lacks(module, name)):
                is_word = name in ("all", "none")
                hint = f"; write `{module}: {name}`" if is_word else meant.end(name, there)
                yield _finding(policy, f"{path}.{name}", f"{module} has no such name{hint}")


def _edits(policy: PolicyData) -> dict[str, list[str]]:
    """Return the names that the edits of each module's line name: path of the line → the names."""
    found: dict[str, list[str]] = {f"imports.{module}": [] for module in policy.imports}
    for key in policy.origins:
        above, _, name = key.rpartition(".")
        while key not in found and above:
            if above in found:
                found[above].append(name)
            above, _, part = above.rpartition(".")
            name = f"{part}.{name}"
    return found


def _lacks(module: str, name: str) -> list[str]:
    """Return the names of a module of the standard library that has neither this one nor a module of it; nothing where
    it has, or nobody knows. Others are not imported for this, nor what is of no use in a sandbox (`antigravity` opens a
    browser), nor private modules (`venv.__main__` makes environments of the arguments of this program).
    """
    first = name.partition(".")[0]
    acts = refusals.of_module(module) is not None or any(part[0] == "_" for part in module.split("."))
    if module not in sys.modules and acts:
        return []
    try:
        there = import_module(module)
    except Exception:  # a module of another system, or one that needs what is not here
        return []
    try:
        known = hasattr(there, first) or find_spec(f"{module}.{first}") is not None
    except ImportError:  # of a module that is no package
        known = False
    return [] if known else dir(there)


def _is_own(rule: str | None, policy: PolicyData) -> bool:
    """Return whether a rule stands in the policy's own file. What a profile offers where installed is not looked at."""
    return rule is None or rule.rpartition(":")[0].rpartition(".")[0] in ("", policy.name)


def examined(mistakes: Iterable[Mistake], draft: PolicyData) -> list[PolicyFinding]:
    """Return the mistakes for which a policy is refused, and what a closer look finds in the rest of it."""
    findings = []
    for one in mistakes:
        place = one.file if one.mark is None else f"{one.file}:{one.mark.line}:{one.mark.column}"
        findings.append(PolicyFinding(place, one.path, one.text))
    wrong = {finding.path for finding in findings}
    if {"", "extends", "builtins"} & {path.partition(".")[0].partition("[")[0] for path in wrong}:
        wrong.add("builtins")  # of a file that cannot be read nobody knows what it opens
    return [*findings, *(finding for finding in review(draft) if finding.path not in wrong)]


def _settings(policy: PolicyData) -> Iterator[PolicyFinding]:
    """Yield what the policy opens and another setting keeps out: modules the kernel stops, files without `open`."""
    if lacks_open(policy):
        text = f"there are files, and `open` is refused; programs that open them need `{OPEN_LINE}`"
        yield _finding(policy, "filesystem", text, harmless=True)
    for name in policy.tools.approval:
        path = f"tools.approval.{name}"
        if name != "*" and name not in policy.tools.allow and _is_own(policy.origin(path), policy):
            yield _finding(policy, path, f"`tools.allow` leaves {name} out, so nobody is asked about it")
    seen: set[str] = set()
    for module, chosen in policy.imports.items():
        for setting, value in wanted(module, chosen).items() if module not in WORDS else ():
            if not attrgetter(setting)(policy) and setting not in seen:
                seen.add(setting)
                text = f"most of its work needs `{setting}: {str(value).lower()}`"
                yield _finding(policy, f"imports.{module}", text, harmless=True)


def _attributes(policy: PolicyData, meant: Suggestions) -> Iterator[PolicyFinding]:
    """Yield what is refused and does not exist, so that something else stays open; and what nothing refuses."""
    for name in policy.attributes.danger_allow:
        if name not in REFUSED_ATTRIBUTES and _is_own(policy.origin(f"attributes.danger_allow.{name}"), policy):
            text = f"nothing refuses it{meant.end(name, REFUSED_ATTRIBUTES)}"
            yield _finding(policy, f"attributes.danger_allow.{name}", text, harmless=True)
    for name in policy.attributes.refuse:
        module, _, leaf = name.rpartition(".")
        if module.partition(".")[0] in sys.stdlib_module_names and (there := _lacks(module, leaf)):
            yield _finding(policy, f"attributes.refuse.{name}", f"{module} has no such name{meant.end(leaf, there)}")


def _hints(policy: PolicyData, judge: Judge) -> Iterator[PolicyFinding]:
    for name in policy.hints:
        if not is_hinted(name) or not _is_own(policy.origin(f"hints.{name}"), policy):
            continue  # others that extend the same file may refuse what the hint is for
        answer = judge.why(name)
        # A name of nothing may be one that programs make up: its hint stands beside the NameError.
        if answer.allowed and answer.kind not in ("name", "setting"):
            yield _finding(policy, f"hints.{name}", "it is allowed, so that nobody reads the hint", harmless=True)


def _paths(policy: PolicyData) -> Iterator[PolicyFinding]:
    for name in policy.filesystem.read:
        if not os.path.exists(name):
            yield _finding(policy, f"filesystem.read.{name}", "there is no such path on this machine", harmless=True)
