"""Judge whether a step can be repeated. If so, the state before it and its source are as good as a copy of the state
after it.

The answer is on the safe side: a step that is not known to compute only is copied. Three things are looked at.

- *Before it runs, the names in its code*: builtins, modules and attributes that only compute (`tables`). By induction
  that is enough: as long as no step has named anything else, the session holds nothing else. Anything else *leads out*:
  by it code can reach a clock, a tool, an address. Once a step has named such a thing, the objects that a later step's
  code can reach are walked through, too.
- *While it runs, audit events* of operations outside of the process, an import among them, and entropy that it takes.
- *After it, what it left*: a string that shows an address, a set that is ordered by addresses.

| when | who | what is looked at |
| --- | --- | --- |
| before it | `inspect` | `_is_usual`: nothing new, the short way; `_judge`: names, instructions, constants of code |
| an import | `_learn` | which attributes of the module lead out; code judged by less is judged anew (`_forbid`) |
| while it runs | `report_set` | each set that it makes, as its code was rewritten by `sets.py` to show them |
| | `external_events` | operations outside, as `step/caught.py` and `process/determinism.py` hear of them |
| after it | `conclude` | what it printed and left: `_depends_on_addresses` |

A program that deceives these rules harms its own session alone: its state differs when the step is repeated, which is
checked, and reported.
"""

from __future__ import annotations

import builtins
import gc
import marshal
import re
import sys
from collections.abc import Callable, Collection, Iterable
from itertools import islice
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Final
from zlib import crc32

from msgspec import Struct
from msgspec.structs import asdict

from safeexec.common.own import ast
from safeexec.engine.child.repeat import tables
from safeexec.engine.child.repeat.code import (
    CO_COROUTINE,
    CO_OPTIMIZED,
    GLOBAL,
    IMPORT,
    ITERATE,
    STORE,
    all_names,
    named,
    passes_view_on,
    stores_constant,
    with_inner,
)
from safeexec.engine.child.repeat.objects import (
    ADDRESS,
    ATOMS,
    PLAIN,
    SETS_AND_VIEWS,
    builtins_of,
    computes,
    contents_of,
    has_address,
    is_of_known,
    is_of_library,
    is_ordered_by_address,
    is_value,
    items_of,
    look_at,
    shows_address,
    walk,
)
from safeexec.engine.child.repeat.sets import rewrite
from safeexec.engine.policy.names import GUARD_ATTRIBUTE, GUARD_NAMES, GUARD_REFUSED, UNGUARDED

if TYPE_CHECKING:
    from safeexec.protocol.messages import ChangesReport, StepDone

NAMES = 20_000
"""Names, and code objects, whose judgement is remembered."""
SET_ITEMS: Final = 10_000
"""Items of sets that are looked at in one step, at up to 6 us each; with more it is copied."""
_FIELD: Final = re.compile(r"\{[^{}]*[.\[](\w+)")
"""The name of an attribute, or a key, in a template of `str.format`."""

external_events: list[str] = []
"""The last audit event, in the step that runs, of an operation outside of the process, or nothing. The hooks of
`step/caught.py` and `process/determinism.py` put it here.
"""

_CHANGED_ITEMS: Final = 100
"""Items of a variable's value up to which all of it counts."""
_TEXT: Final = 10_000
"""Characters or bytes of a variable's value up to which all of them count."""
_VARIABLES: Final = 20
"""Variables whose values count; of more, the descriptions do."""
NUMBERS: Final = frozenset({int, float, bool, complex, type(None)})
_BY_NAME: Final = frozenset({UNGUARDED["getattr"], UNGUARDED["setattr"]})
"""Guards that reach an attribute by a name which may be computed."""


class Seen(Struct):
    """The kinds of things that the steps of a session have named so far. It is saved with a state."""

    makes_sets: bool = False
    """A set was made, and not only a view of a dict."""
    texts: bool = False
    """A string was made of an object."""
    sorts: bool = False
    """Strings may be in an order: one code object sorts, and makes strings of objects; or numbers were made of them."""
    fills_sets: bool = False
    """A set that exists was filled: what is read from then on is looked at."""
    unseen_sets: bool = False
    """A set may have been made that was not shown."""
    classes: bool = False
    """A function has a class inside, which no variable need hold."""
    tainted: bool = False
    """Something that is not known to compute was named: the session may hold it."""
    unpredictable: bool = False
    """Code of the program may run at times of its own: no step can be repeated from then on."""


class Repeatable:
    """Judges the steps of one session."""

    def __init__(self, namespace: dict[str, Any], given: Iterable[str], tools: Iterable[str]) -> None:
        """`given`: names of the session's builtins; those that Python does not have are the host's, as `tools` are."""
        self._namespace = namespace
        self._outer = {name for name in given if not hasattr(builtins, name)}.difference(GUARD_NAMES).union(tools)
        """Names of what the host gives the session."""
        self._impure = self._outer | tables.IMPURE
        self._attributes = set(tables.HIDING)
        """Attributes that lead out, of the modules that were imported too."""
        self._words: set[str] = set()
        """Keywords and strings that lead out of functions of the modules that were imported."""
        self._plain: set[str] = set()
        """Names that were judged to compute wherever they stand."""
        self._met: set[Any] = set()
        """Names of code that was judged by how it uses them, and what constants of code hold."""
        self._judged: dict[CodeType, bool] = {}
        self._learnt: dict[str, list[int]] = {}
        """The contents of each module that was imported, when it was."""
        self._loading: set[str] = set()
        """Modules that a step was about to import."""
        self._version = 0
        """Of what is known: another one where something was learnt for which code is to be judged anew."""
        self._codes: Collection[CodeType] = ()
        """The code of the step that runs."""
        self._makes_sets = False
        """True if the step that runs may make sets."""
        self._items_left = SET_ITEMS
        """How many more items of sets, numbers and strings not counted, are looked at while it runs."""
        self.seen = Seen()
        self.deterministic = True
        """True while nothing speaks against the step that runs."""

    def inspect(self, codes: Collection[CodeType]) -> Callable[..., None] | None:
        """Judge the code of a step that is about to run. Returns `instrument_sets` if the step is to be compiled from
        trees that it has rewritten. Costs 2 us for the usual step, 50 for one with a class.
        """
        seen = self.seen
        self._makes_sets, self._items_left = False, SET_ITEMS
        if self._loading:
            loading, self._loading = self._loading, set()
            for name in loading & sys.modules.keys():
                self._learn(name)
        version = -1
        while version != self._version:  # in a loop, or a function, the beginning may use what the end imports
            version, fine = self._version, True
            for code in codes:
                if code.co_flags & CO_COROUTINE:
                    fine = False
                elif not self._is_usual(code) and not self._judge(code):
                    fine = False
                    self._taint()
            if seen.tainted and fine:
                try:
                    things = walk(self._namespace, [*self._bound(*codes), builtins_of(self._namespace).get("_")])
                    fine = not any(thing is None or self._is_impure(thing) for thing in things)
                except BaseException:  # raised by the program's own code, which a look at its objects may run
                    fine = False
        self.deterministic = fine and not seen.unpredictable
        self._codes = codes
        external_events.clear()
        return self.instrument_sets if self._makes_sets else None

    def instrument_sets(self, *trees: ast.AST) -> None:
        """Rewrite the trees of a step so that each set that it makes is seen by `report_set`."""
        try:
            shown = rewrite(*trees, reads=self.seen.fills_sets)
        except RecursionError:  # what was rewritten until then is as good as what was not
            shown = False
        self.seen.unseen_sets |= not shown

    def report_set(self, value: Any) -> Any:
        """Note what the program has just made, if it is a set or a view. Returns it. A builtin of rewritten code.
        Costs 0.2 us, and 10 ns for each number or string in a set.
        """
        kind = type(value)
        if self.deterministic and kind not in PLAIN:
            try:
                if (kind is set or kind is frozenset) and PLAIN.issuperset(map(type, value)):
                    self.seen.makes_sets = True
                elif issubclass(kind, SETS_AND_VIEWS):
                    self.seen.makes_sets |= issubclass(kind, (set, frozenset))
                    items = items_of(value)
                    if not PLAIN.issuperset(map(type, items)):
                        self._items_left -= len(items)
                        self.deterministic = self._items_left >= 0 and all(map(is_value, items))
            except Exception:  # nested too deeply, filled by a thread meanwhile
                self.deterministic = False
        return value

    def _is_usual(self, code: CodeType) -> bool:
        """Return whether the code names nothing new and adds nothing to what was seen."""
        names, does, seen = code.co_names, code.co_code[::2], self.seen
        return (
            self._plain.issuperset(names)
            and IMPORT not in does
            and NUMBERS.issuperset(map(type, code.co_consts))
            and tables.SETTERS.isdisjoint(names)
            and tables.SET_CODES.isdisjoint(does)
            and not (seen.fills_sets and self._reads(code, does))
            and tables.SORTS.isdisjoint(names)
            and tables.DIGESTS.isdisjoint(names)
            and (seen.texts or (tables.TEXTS.isdisjoint(names) and tables.TEXT_CODES.isdisjoint(does)))
        )

    def _taint(self) -> None:
        self.seen.tainted = True
        self._judged.clear()

    def refused(self, done: StepDone) -> StepDone:
        """Conclude a step that has run nothing. Returns it."""
        self.deterministic = not self.seen.unpredictable
        self.conclude(done, b"")
        return done

    def conclude(self, done: StepDone, printed: bytes | None) -> None:
        """Set `repeatable` and `did` of a step that has ended. `printed`: its standard output; None if not known."""
        outcome, seen = b"", self.seen
        try:
            outcome = outcome_of(done, self._namespace)
            fine = (
                self.deterministic
                and not (external_events and done.outcome == "ok")
                and done.outcome in ("ok", "error", "rejected")
                and printed is not None
                and ADDRESS not in printed
                and ADDRESS not in outcome
                and not (
                    (seen.texts or seen.makes_sets or seen.unseen_sets) and self._depends_on_addresses(done.changes)
                )
            )
        except BaseException:  # raised by the program's own code, as above
            fine = False
        done.did = crc32(printed or b"", crc32(outcome))
        done.repeatable = fine

    # What is kept with a state

    def known(self) -> tuple[Any, ...]:
        """Return what a saved state must hold of the steps that led to it, for `know`."""
        return asdict(self.seen), list(self._learnt)

    def know(self, known: Any) -> None:
        """Take over what `known` has returned, for a state that was restored. Its objects are walked through from now
        on, as no step has named them here.
        """
        flags, learnt = known
        for name in Seen.__struct_fields__:  # of another version, which may not have noted it: as if it had been seen
            setattr(self.seen, name, type(flags) is not dict or bool(flags.get(name, True)))
        for name in learnt:
            self._learn(name)
        self._taint()

    def assigned(self, value: Any) -> None:
        """Note that the host has bound a variable."""
        if type(value) not in ATOMS:
            self._taint()
            for name in tables.OUTWARD:
                self._learn(name)

    # Code

    def _judge(self, code: CodeType) -> bool:
        """Return whether all names in the code, and in the code inside of it, are known to compute."""
        fine, plain = True, self._plain
        for one in with_inner(code):
            does = one.co_code[::2]
            self._see(one, does)
            if IMPORT in does or not (plain.issuperset(one.co_names) or self._judge_names(one)):
                fine = self._judge_closely(one) and fine
            fine = self._judge_constants(one) and fine
            if not plain.issuperset(one.co_names):
                self._met.update(one.co_names)
            if len(self._met) >= NAMES or len(plain) >= NAMES:  # a name that is forgotten may lead out one day
                self._met.clear()
                plain.clear()
                self._taint()
        return fine

    def _see(self, code: CodeType, codes: bytes) -> None:
        """Note what the code, whose instructions are `codes`, makes: functions, sets, strings of objects."""
        names, seen = code.co_names, self.seen
        if not seen.sorts:
            seen.sorts = not tables.DIGESTS.isdisjoint(names) or (
                not tables.SORTS.isdisjoint(names) and not tables.TEXTS.isdisjoint(names)
            )
        makes_sets = not tables.SET_CODES.isdisjoint(codes) or not tables.SET_NAMES.isdisjoint(names)
        seen.makes_sets |= makes_sets
        seen.fills_sets |= not tables.FILLING.isdisjoint(names)
        self._makes_sets |= (
            makes_sets
            or not tables.CLASS_NAMES.isdisjoint(names)
            or (seen.fills_sets and self._reads(code, codes))
            or (not tables.VIEW_NAMES.isdisjoint(names) and passes_view_on(code))
        )
        if not seen.texts:
            seen.texts = not tables.TEXTS.isdisjoint(names) or not tables.TEXT_CODES.isdisjoint(codes)

    def _reads(self, code: CodeType, codes: bytes) -> bool:
        """Return whether the code, whose instructions are `codes`, may read the items of a set in their order."""
        return ITERATE in codes or not tables.VIEW_USERS.isdisjoint(code.co_names)

    def _judge_constants(self, code: CodeType) -> bool:
        """Return whether the names in constants compute: keywords of patterns, fields of templates."""
        seen = self.seen
        for constant in code.co_consts:
            if type(constant) is CodeType:
                seen.classes |= bool(code.co_flags & CO_OPTIMIZED and not constant.co_flags & CO_OPTIMIZED)
            elif type(constant) in (tuple, frozenset):
                if not self._attributes.isdisjoint(constant) or not self._words.isdisjoint(constant):
                    return False
                seen.unpredictable |= not tables.UNTIMELY.isdisjoint(constant)
                self._met.update(constant)
            elif type(constant) is str:
                seen.texts |= "%s" in constant or "%r" in constant
                seen.unpredictable |= constant in tables.UNTIMELY
                if constant in self._words:
                    return False
                if "{" in constant:
                    fields = _FIELD.findall(constant)
                    if not self._attributes.isdisjoint(fields):
                        return False
                    self._met.update(fields)
                elif constant.isidentifier():
                    self._met.add(constant)
        return True

    def _judge_names(self, code: CodeType) -> bool:
        """Return whether each name computes wherever it stands. If not, it may where it is: see `_judge_closely`."""
        for name in code.co_names:
            if name not in self._plain:
                if name in self._impure or self._is_doubtful_attribute(name):
                    return False
                self._plain.add(name)
        return True

    def _is_doubtful_attribute(self, name: str) -> bool:
        return name in self._attributes or _is_doubtful_dunder(name)

    def _judge_closely(self, code: CodeType) -> bool:
        """Judge each name by the instruction that uses it."""
        fine, seen = True, self.seen
        for name, does in named(code):
            seen.unpredictable |= name in tables.UNTIMELY
            if does == "IMPORT_NAME":
                seen.unpredictable |= name in tables.LASTING
                if computes(name):
                    self._learn(name)
                else:
                    fine = False
            elif name == "__match_args__":
                fine = fine and stores_constant(code, name)
            elif not does.startswith(("STORE", "DELETE")):
                of_global = does.startswith(GLOBAL)
                fine = fine and not _is_doubtful_dunder(name)
                fine = fine and (self._is_pure_global(name, code) if of_global else name not in self._attributes)
        return fine

    def _is_pure_global(self, name: str, code: CodeType) -> bool:
        """Return whether a global name, or a builtin, only computes in this code."""
        return (
            name not in self._impure
            or (name in self._namespace and name not in self._outer)
            # What a class gives as its hash ends in the order of a set, which is looked at by what it is made of. Where
            # the method keeps it, it may end anywhere.
            or (name == "hash" and code.co_name == "__hash__" and STORE not in code.co_code[::2])
            or (name in _BY_NAME and self._gives_plain_names(code))
        )

    def _gives_plain_names(self, code: CodeType) -> bool:
        """Return whether each name that the code gives a guard of `_BY_NAME` is written there, and only computes."""
        names = code.co_names
        return (
            GUARD_ATTRIBUTE not in names
            and GUARD_REFUSED not in names
            and not any(
                text in tables.TELLING or self._is_doubtful_attribute(text)
                for text in code.co_consts
                if type(text) is str
            )
        )

    # Modules

    def _learn(self, name: str) -> None:
        """Note which attributes of a module, and of those in it, lead out."""
        if name in self._learnt:
            return
        module = sys.modules.get(name)
        if module is None:
            self._loading.add(name)  # by the import that is about to run
            return
        self._learnt[name], attributes, others = look_at(name, module)
        self._attributes |= attributes
        words = tables.OUTWARD_WORDS.get(name, frozenset())
        self._words |= words
        self._forbid(attributes | words)
        for other in others:
            self._learn(other)

    def _forbid(self, names: frozenset[str]) -> None:
        """Note that these names lead out from now on. Code that names one may have been judged before."""
        self._version += 1
        self._judged.clear()
        if not self._plain.isdisjoint(names) or not self._met.isdisjoint(names):
            self._plain -= names
            self._met -= names
            self._taint()

    # What code can reach

    def _is_impure(self, thing: Any) -> bool:
        kind = type(thing)
        if issubclass(kind, ModuleType):
            name = thing.__name__
            learnt = self._learnt.get(name)
            return not computes(name) or (learnt is not None and learnt != contents_of(thing))
        if kind is FunctionType:
            if thing.__globals__ is self._namespace:
                return not self._judge_function(thing.__code__)
            name = thing.__name__
            # The language layer's own `getattr` says that it is of `builtins`.
            is_guard = thing.__module__ == "builtins" and name in tables.IMPURE
            return not is_of_known(thing) or name in self._attributes or is_guard
        if _is_of_program(thing):
            inside = vars(thing)
            self.seen.unpredictable |= not tables.UNTIMELY.isdisjoint(inside)  # by whatever name it was set
            return self.seen.unpredictable or not self._attributes.isdisjoint(inside.get("__match_args__", ()))
        if kind is BuiltinFunctionType or issubclass(kind, type):
            return not is_of_known(thing) or thing.__name__ in self._attributes or thing.__name__ in tables.IMPURE
        return not (_is_of_program(kind) or is_of_known(kind))

    def _judge_function(self, code: CodeType) -> bool:
        """Return `_judge` of the code, as it was when nothing more was known than now."""
        known = self._judged.get(code)
        if known is None:
            version, known = self._version, self._judge(code)
            if len(self._judged) >= NAMES:
                self._judged.clear()
            if version == self._version:  # else it was judged by less than is known now
                self._judged[code] = known
        return known

    def _depends_on_addresses(self, changes: ChangesReport | None) -> bool:
        """Return whether a string shows where an object of the program's lies, or the order of a set depends on it:
        also of a set that the step made and dropped. `changes` are those of the step.
        """
        seen, namespace = self.seen, self._namespace
        values = [*namespace.values(), builtins_of(namespace).get("_")]
        own_classes = [*filter(_is_of_program, values)]
        if seen.unseen_sets and (seen.classes or any(kind.__hash__ is object.__hash__ for kind in own_classes)):
            return True
        texts = seen.texts and (seen.classes or any(kind.__repr__ is object.__repr__ for kind in own_classes))
        if texts and seen.sorts:
            return True
        walked: set[int] = set()
        if seen.texts and not texts and changes is not None:  # of a function, an iterator, a class that is held nowhere
            roots = [*self._bound(*self._codes), *map(namespace.get, (*changes.created, *changes.changed))]
            for thing in walk(namespace, roots, walked):
                if thing is None or any(map(has_address, gc.get_referents(thing))):
                    return True
                if seen.makes_sets and is_ordered_by_address(thing):
                    return True
        return (seen.makes_sets or texts) and any(
            thing is None or is_ordered_by_address(thing) or (texts and shows_address(gc.get_referents(thing)))
            for thing in walk(namespace, [values], walked)
        )

    def _bound(self, *codes: CodeType) -> list[Any]:
        """Return what the names that the codes use are bound to."""
        return [self._namespace[name] for code in codes for name in all_names(code) if name in self._namespace]


def _is_doubtful_dunder(name: str) -> bool:
    return name[:2] == "__" and name[-2:] == "__" and name not in tables.DUNDERS and name != "__main__"


def _is_of_program(kind: Any) -> bool:
    return issubclass(type(kind), type) and not is_of_library(kind)


def outcome_of(done: StepDone, namespace: dict[str, Any]) -> bytes:
    """Return the outcome, error, value and changed variables of a step. Costs 5 us, and 1 us for ten items more."""
    error, changes = done.error, done.changes
    parts: list[Any] = [done.outcome, done.text, done.exit_status]
    if error is not None:
        parts += [error.type, error.message, error.line]
    if changes is not None:
        parts += [changes.created, changes.changed, changes.deleted, list(changes.descriptions.values())]
        for name in islice((*changes.created, *changes.changed), _VARIABLES):
            value = namespace.get(name)
            if type(value) in NUMBERS or _left_of(value, _CHANGED_ITEMS) >= 0:
                parts.append(value)
    # Version 2: from 3 on it depends on who else holds a part whether a reference to it is written.
    return marshal.dumps(parts, 2)


def _left_of(value: Any, items: int) -> int:
    """Return how many of so many items are left after a value's; negative if it has more, or is not plain data."""
    kind = type(value)
    if kind in ATOMS:
        if kind is CodeType:
            return -1
        return items - 1 if kind not in (str, bytes) or len(value) <= _TEXT else -1
    if kind is dict:
        if len(value) * 2 > items:
            return -1
        value = (*value, *value.values())
    elif kind not in (list, tuple, set, frozenset) or len(value) > items:
        return -1
    items -= 1
    for item in value:
        items = _left_of(item, items)
        if items < 0:
            return -1
    return items


_SAMPLE: Final = """
import math
class Kind(Base):
    def method(self, given, *more):
        for key in more:
            self.held[key] = math.floor(given) + 1.5
        return f"{type(self).__name__} {given:.2f} {more!r}", sorted(self.held.items()), isinstance(given, set)
    def __repr__(self):
        return ", ".join(str(key) for key in {len(key) for key in self.held})
kind = Kind([1, "two", {"three": (3, 3.5)}])
"""
"""Has some of all that is looked at. It is never run."""
_SAMPLE_CODE: Final = compile(_SAMPLE, "<warm-up>", "exec")


class _SampleClass:
    held: ClassVar[dict[str, tuple[int, float]]] = {"three": (3, 3.5)}


def warm_up_looks() -> None:
    """Judge a program as a step that has run. In the zygote CPython specialises this code; in a child, in think time,
    it touches the pages that its first class will need: 0.5 ms of a step of 1 ms.
    """
    known = Repeatable({"Kind": _SampleClass, "kind": [_SampleClass(), {1, 2}, (1.5, "two")]}, (), ())
    known.inspect([_SAMPLE_CODE])
    known.instrument_sets(ast.parse(_SAMPLE))
    known._depends_on_addresses(None)
