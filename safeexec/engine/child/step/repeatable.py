"""Whether a step can be done once more from the state before it, exactly: then that state and its source are as good as
a copy of the state after it.

Decided after the step, by what it did, and on the safe side: whatever is not known to compute counts as what cannot be
repeated. Three things are looked at.

- *What its code names*: builtins, modules and attributes that only compute. By induction: a session whose steps have
  never named anything else holds nothing else, so the names of the next step's code are all there is to judge. Once a
  step has named something else (a clock, a tool, `id`), whatever the code of a later step can reach is walked through.
- *What the interpreter tells*: each audit event of an operation outside of the process, an import among them.
- *What it left*: an address that was shown, a set that is ordered by addresses.

A program that wants to deceive this deceives itself: its own state comes out otherwise when a step is done once more,
which is checked, and told.
"""

from __future__ import annotations

import builtins
import gc
import marshal
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from opcode import EXTENDED_ARG, hasname, opmap, opname
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Final
from zlib import crc32

from safeexec.common.identity import identity
from safeexec.engine.child.step.sets import makes_sets_of_anything, only_compares
from safeexec.engine.policy.names import GUARD_NAMES

if TYPE_CHECKING:
    from safeexec.protocol.messages import StepDone


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MODULES: Final = _words(
    """
    __future__ abc array base64 binascii bisect calendar cmath collections contextlib copy csv dataclasses
    datetime decimal difflib enum fractions functools graphlib hashlib heapq html io itertools json math mpmath
    numbers numpy operator random re statistics string struct sympy textwrap types typing unicodedata zlib
    """
)
"""Modules that only compute, with those below them."""
NOT_BELOW: Final = _words(
    """
    numpy.ctypeslib numpy.distutils numpy.f2py numpy.lib numpy.ma numpy.testing sympy.external sympy.interactive
    sympy.plotting sympy.stats sympy.testing sympy.utilities
    """
)
"""Of these but for what is below here."""
IMPURE: Final = _words(
    """
    __import__ breakpoint compile copyright credits dir eval exec exit getattr globals hash help id input license
    locals memoryview open quit vars
    """
)
"""Builtins that show addresses or reach what no name tells of."""
HIDING: Final = _words(
    """
    gi_frame cr_frame ag_frame tb_frame f_back f_globals f_builtins f_locals attrgetter methodcaller get_type_hints
    buffer_info ctypes
    """
)
"""Attributes that lead to the frames of whoever runs a step, take names as texts, or show addresses."""
OUTWARD: Final = {
    "datetime": _words("now today utcnow"),
    "io": _words("open open_code FileIO"),
    "mpmath": _words("randmatrix"),
    "numpy": _words("memmap Generator PCG64 PCG64DXSM Philox SFC64 MT19937 SeedSequence"),
    "random": _words("SystemRandom"),
    "sympy": _words("randMatrix"),
}
"""Attributes of known modules, and of their objects, that read a clock, take entropy or open files."""
RANDOM: Final = _words("random numpy.random samples rand")
"""What leads to the generators of random numbers, whose state differs from one new child to the next."""
SEEDED: Final = _words("seed Random default_rng RandomState")
"""What makes such a state: from entropy, unless a number is given."""
_SEEDED_OTHERWISE: Final = re.compile(r"\b(?:seed|Random|default_rng|RandomState)\b(?!\s*\(\s*-?\d+\s*[,)])")
_COMMENT: Final = re.compile(r"""(?m)#[^\n"'()]*$""")
"""One that is surely none of a text, nor hides a call."""
LASTING: Final = _words("gc weakref signal atexit")
"""Modules by which code of the program runs at times of its own."""
SET_NAMES: Final = _words("set frozenset union intersection difference symmetric_difference and_ or_ xor sub")
VIEW_NAMES: Final = _words("keys items")
"""What gives a view of a dict, of which an operator makes a set."""
FILLING: Final = _words("add update union symmetric_difference")
"""What may put anything into a set that was made of plain values."""
CLASS_NAMES: Final = _words("type __class__")
"""What gives the class of a set, which makes another one."""
SETTERS: Final = SET_NAMES | VIEW_NAMES | FILLING | CLASS_NAMES
SET_CODES: Final = frozenset(opmap[name] for name in ("BUILD_SET", "SET_ADD", "SET_UPDATE") if name in opmap)
SET_OPERATORS: Final = frozenset((opmap["BINARY_OP"], operator) for operator in (1, 7, 10, 12, 14, 20, 23, 25))
"""And, or, subtract and xor, in place too."""
TEXTS: Final = _words("str repr format ascii __str__ __repr__ __format__ pformat dumps")
TEXT_CODES: Final = frozenset(code for name, code in opmap.items() if name.startswith(("FORMAT_", "CONVERT_")))
"""What makes a text of an object, which may show where the object lies."""
SORTS: Final = _words("sort sorted min max nsmallest nlargest")
"""What is named together with a text where objects may be put in the order of their texts."""
_FIELD: Final = re.compile(r"\{[^{}]*[.\[](\w+)")
"""A name of an attribute, or a key, in a template of `str.format`."""
IMPORT: Final = opmap["IMPORT_NAME"]
CO_COROUTINE: Final = 0x80
CO_OPTIMIZED: Final = 0x1
"""Of `inspect`, which is not imported for them. A class body is not optimized."""
MOST = 3000
"""Objects that are walked through after a step."""
SET_CHARACTERS = 64 << 10
"""Of the sources that make sets, which are parsed once a class makes it matter what is in these."""
NAMES = 20_000
"""Names and codes that are remembered as judged."""
PLAIN_ITEMS = 100
"""Items of a variable's value up to which all of it counts for what a step did."""
PLAIN_CHARACTERS = 10_000
ADDRESS = b" at 0x"
"""Is in every text that shows where an object lies."""
PART_OF_ADDRESS: Final = re.compile(r"0x|(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{6,}")
"""Is in what a program may cut out of such a text."""

_ATOMS: Final = frozenset({int, float, bool, complex, str, bytes, type(None), type(...), CodeType})
_NUMBERS: Final = frozenset({int, float, bool, complex, type(None)})
_PLAIN_KINDS: tuple[type, ...] = (int, float, complex, str, list, dict, set, type(iter([])))
_DUNDERS: Final = (
    frozenset(name for kind in _PLAIN_KINDS for name in vars(kind))
    | _words(
        """
    __name__ __qualname__ __module__ __doc__ __class__ __annotations__ __slots__ __mro__ __bases__
    __enter__ __exit__ __call__ __post_init__ __set_name__ __get__ __set__ __missing__ __match_args__ __getattr__
    __setattr__ __repr__ __str__ __eq__ __ne__ __init__ __new__ __format__ __fspath__ __matmul__ __imatmul__
    __iadd__ __isub__ __imul__ __itruediv__ __truediv__ __cause__ __context__ __notes__ __args__ __wrapped__
    __init_subclass__ __class_getitem__ __prepare__ __instancecheck__ __complex__ __bytes__ __static_attributes__
    __firstlineno__ __type_params__ __classcell__ __classdictcell__ __conditional_annotations__ __debug__ __all__
    __version__ __build_class__ __annotate__ __annotate_func__ __classdict__ __total__
    """
    )
) - _words(
    """
    __hash__ __sizeof__ __reduce__ __reduce_ex__ __getstate__ __getattribute__ __dir__
    """
)

happened: list[str] = []
"""The last audit event of an operation outside of the process."""
INWARD: Final = _words(
    """
    compile exec code.__new__ function.__new__ object.__getattr__ object.__setattr__ object.__delattr__
    marshal.dumps marshal.loads sys._getframe sys._getframemodulename sys._current_frames array.__new__
    builtins.id gc.get_objects gc.get_referents gc.get_referrers setopencodehook sys.excepthook
    """
)
"""Audit events of operations that stay in the interpreter."""


class Repeatable:
    """What is known of one session's steps so far."""

    __slots__ = (
        "_attributes",
        "_classes",
        "_computed",
        "_fills_sets",
        "_functions",
        "_impure",
        "_judged",
        "_learnt",
        "_listed",
        "_loading",
        "_makes_sets",
        "_namespace",
        "_operates",
        "_outer",
        "_plain",
        "_random",
        "_set_sources",
        "_sets",
        "_sets_of_anything",
        "_sorts",
        "_spelt",
        "_tainted",
        "_texts",
        "_views",
        "deterministic",
        "unpredictable",
    )

    def __init__(self, namespace: dict[str, Any], given: Iterable[str], tools: Iterable[str]) -> None:
        """`given`: names of builtins of the session, of which those that are none of Python's are the host's, as
        `tools` are.
        """
        self._namespace = namespace
        self._outer = {name for name in given if not hasattr(builtins, name)} - GUARD_NAMES | {*tools}
        self._impure = self._outer | IMPURE
        self._attributes = set(HIDING)
        self._plain: set[str] = set()
        self._judged: dict[CodeType, bool] = {}
        self._learnt: dict[str, list[int]] = {}
        self._loading: set[str] = set()
        self._sets = self._views = self._operates = self._functions = self._texts = False
        self._sorts = False
        """Whether one code sorts, and names what makes a text of an object."""
        self._makes_sets = self._fills_sets = False
        """Whether the step that runs makes sets, and not only views of a dict; whether a step has filled any."""
        self._set_sources: list[str] = []
        """Those of the steps that make sets."""
        self._sets_of_anything = False
        """Whether a set that a step has made may hold what is no plain value."""
        self._computed = self._listed = self._spelt = False
        """Whether a step has named attributes by computed texts, has listed the names of an object, or holds the text
        of a name that is not known to compute.
        """
        self._classes = False
        """Whether a function has a class inside, which no variable need hold."""
        self._random = False
        """Whether a step has named the generators of random numbers."""
        self._tainted = False
        """Whether a step has named what is not known to compute: then the session may hold it."""
        self.unpredictable = False
        """Whether code of the program may run at times of its own: no step can be done once more from then on."""
        self.deterministic = True
        """Whether nothing tells against the step that runs."""

    def inspect(self, source: str, body: CodeType | None, tail: CodeType | None) -> None:
        """Look at the code of a step that is about to run."""
        fine, self._makes_sets = True, False
        if self._loading:
            loading, self._loading = self._loading, set()
            for name in loading & sys.modules.keys():
                self._learn(name)
        codes = [code for code in (body, tail) if code is not None]
        for code in codes:
            names, does = code.co_names, code.co_code[::2]
            if code.co_flags & CO_COROUTINE:
                fine = False
            elif (
                self._plain.issuperset(names)
                and IMPORT not in does
                and _NUMBERS.issuperset(map(type, code.co_consts))
                and (
                    self._sets_of_anything
                    or (SETTERS.isdisjoint(names) and SET_CODES.isdisjoint(does) and not self._views)
                )
                and SORTS.isdisjoint(names)
                and (self._texts or (TEXTS.isdisjoint(names) and TEXT_CODES.isdisjoint(does)))
            ):
                continue  # the usual step
            if not self._judge(code, source):
                fine = False
                self._taint()
        if self._tainted and fine:
            try:
                fine = not self._reaches_impure(codes)
            except BaseException:  # code of the guest's, which a look at its objects may run
                fine = False
        if self._makes_sets and not self._sets_of_anything:
            self._set_sources.append(source)
            self._sets_of_anything = sum(map(len, self._set_sources)) > SET_CHARACTERS
        self.deterministic = fine and not self.unpredictable
        happened.clear()

    def _taint(self) -> None:
        self._tainted = True
        self._judged.clear()  # what lists the names of the session, or computes them, is judged otherwise now

    def refused(self, done: StepDone) -> StepDone:
        """Fill in the same for a step that has run nothing. Returns it."""
        self.deterministic = not self.unpredictable
        self.conclude(done, b"")
        return done

    def conclude(self, done: StepDone, printed: bytes | None) -> None:
        """Fill in `due` and `did` of what came of the step. `printed`: its standard output; None: not known."""
        told = b""
        try:
            told = _told(done, self._namespace)
            fine = (
                self.deterministic
                and not (happened and done.outcome == "ok")
                and done.outcome in ("ok", "error", "rejected")
                and printed is not None
                and ADDRESS not in printed
                and ADDRESS not in told
                and not (self._functions and self._shows_or_orders_addresses())
            )
        except BaseException:  # code of the guest's, which a look at its objects may run
            fine = False
        done.did = crc32(printed or b"", crc32(told))
        done.due = not fine

    # Code

    def _judge(self, code: CodeType, source: str | None) -> bool:
        """Tell whether all that the code names, and that inside of it, is known to compute."""
        fine = True
        waiting = [code]
        while waiting:
            one = waiting.pop()
            known = self._judged.get(one) if source is None else None
            if known is None:
                known = self._judge_one(one, source)
                if len(self._judged) >= NAMES:
                    self._judged.clear()
                self._judged[one] = known
            fine = fine and known
            waiting += [inside for inside in one.co_consts if type(inside) is CodeType]
        return fine

    def _judge_one(self, code: CodeType, source: str | None) -> bool:
        names, codes = code.co_names, code.co_code[::2]
        if not self._functions:
            self._functions = any(
                (type(inside) is CodeType and inside.co_name[:1] != "<") or getattr(inside, "co_name", "") == "<lambda>"
                for inside in code.co_consts
            )
        self._views |= not VIEW_NAMES.isdisjoint(names)
        if not self._sets:
            self._operates |= not SET_OPERATORS.isdisjoint(_operators(code))
            self._sets = (
                not SET_NAMES.isdisjoint(names) or not SET_CODES.isdisjoint(codes) or (self._views and self._operates)
            )
        if not self._sorts:
            self._sorts = not SORTS.isdisjoint(names) and not TEXTS.isdisjoint(names)
        if not self._sets_of_anything:
            self._fills_sets |= not FILLING.isdisjoint(names)
            self._makes_sets |= (
                "set" in names
                or "frozenset" in names
                or not CLASS_NAMES.isdisjoint(names)
                or not SET_CODES.isdisjoint(codes)
                or (self._views and not SET_OPERATORS.isdisjoint(_operators(code)))
            )
        if not self._texts:
            self._texts = not TEXTS.isdisjoint(names) or not TEXT_CODES.isdisjoint(codes)
        if IMPORT in codes:
            fine = self._judge_closely(code, source)
        else:
            fine = self._plain.issuperset(names) or self._judge_names(code, source)
        return self._judge_constants(code) and fine

    def _judge_constants(self, code: CodeType) -> bool:
        """The same of names that stand in constants: keywords of patterns, and the fields of templates."""
        for constant in code.co_consts:
            if type(constant) is CodeType:
                self._classes |= bool(code.co_flags & CO_OPTIMIZED and not constant.co_flags & CO_OPTIMIZED)
            elif type(constant) in (tuple, frozenset):
                if not self._attributes.isdisjoint(constant):
                    return False
                if not RANDOM.isdisjoint(constant):
                    self._meet_random()
                if any(map(self._spells, _texts_in(constant))):
                    return False
            elif type(constant) is str:
                self._texts |= "%s" in constant or "%r" in constant
                if self._spells(constant):
                    return False
                if "{" in constant and not self._attributes.isdisjoint(_FIELD.findall(constant)):
                    return False
        return True

    def _spells(self, text: str) -> bool:
        """Tell whether a text may be used as the name of what is not known to compute."""
        if self._is_doubtful_attribute(text):
            self._spelt = True
            return self._computed
        return False

    def _judge_names(self, code: CodeType, source: str | None) -> bool:
        for name in code.co_names:
            if name not in self._plain:
                if self._doubtful(name):
                    return self._judge_closely(code, source)
                if len(self._plain) >= NAMES:
                    self._plain.clear()
                self._plain.add(name)
        return True

    def _doubtful(self, name: str) -> bool:
        """Tell whether it depends on where the name stands."""
        return name in self._impure or (self._random and name in SEEDED) or self._is_doubtful_attribute(name)

    def _is_doubtful_attribute(self, name: str) -> bool:
        if name[:2] == "__" and name[-2:] == "__":
            return name not in _DUNDERS and name != "__main__"
        return name in self._attributes or name in RANDOM

    def _judge_closely(self, code: CodeType, source: str | None) -> bool:
        """The same by where each name stands."""
        fine = True
        for name, does in named(code):
            if does == "IMPORT_NAME":
                fine = self._imported(name) and fine
            # `copy` gives a `__deepcopy__` the identities of what it has copied.
            if name in ("__del__", "__deepcopy__") or (does == "IMPORT_NAME" and name in LASTING):
                self.unpredictable = True
            if name in RANDOM and (name in ("rand", "random") or does.startswith(_FROM)):
                self._meet_random()
            if does.startswith(("STORE", "DELETE")):
                continue
            if self._random and name in SEEDED:
                fine = fine and source is not None and _SEEDED_OTHERWISE.search(_COMMENT.sub("", source)) is None
            elif does.startswith(_GLOBAL):
                fine = fine and (
                    name not in self._impure
                    or (name in self._namespace and name not in self._outer)
                    or (name in ("getattr", "vars") and self._leads_nowhere(name))
                    or (name == "dir" and self._lists_nothing_impure())
                    # What it gives ends in the order of a set, which is looked at by what it is made of.
                    or (name == "hash" and code.co_name == "__hash__")
                    or (name in ("id", "hash") and source is not None and only_compares(source, name))
                )
            elif does != "IMPORT_NAME":
                fine = fine and name not in self._attributes
            if name[:2] == "__" and name[-2:] == "__" and name not in _DUNDERS and does != "IMPORT_NAME":
                fine = fine and name == "__dict__" and self._leads_nowhere(name)
        return fine

    def _leads_nowhere(self, name: str) -> bool:
        """Tell whether a computed name can only be that of something of the program's."""
        self._computed = True
        return (
            not self._spelt
            and not self._listed
            and not (self._tainted and name == "vars")
            and OUTWARD.keys().isdisjoint(self._learnt)
        )

    def _lists_nothing_impure(self) -> bool:
        """Tell whether a list of names leads nowhere, as no computed name is looked up."""
        self._listed = True
        return not self._computed and not self._tainted

    def known(self) -> tuple[Any, ...]:
        """Return what a state must tell of the steps that led to it, for `know`."""
        return [getattr(self, name) for name in _KNOWN], self._set_sources, list(self._learnt)

    def know(self, known: Any) -> None:
        """A state has been restored of which this is known. Its objects are walked through, as no step has named
        them here.
        """
        flags, self._set_sources, learnt = known
        for name, value in zip(_KNOWN, flags, strict=True):
            setattr(self, name, bool(value))
        if self._random:
            self._plain -= SEEDED
        for name in learnt:
            self._learn(name)
        self._taint()

    def assigned(self, value: Any) -> None:
        """The host has bound a variable."""
        if type(value) not in _ATOMS:
            self._taint()
            for name in OUTWARD:
                self._learn(name)

    def _meet_random(self) -> None:
        if not self._random:
            self._random = True
            self._plain -= SEEDED

    def _imported(self, name: str) -> bool:
        """Tell whether a module of that name only computes."""
        if not _computes(name):
            return False
        self._learn(name)
        return True

    def _learn(self, name: str) -> None:
        """Note which attributes of a module lead out of it."""
        if name in self._learnt:
            return
        module = sys.modules.get(name)
        if module is None:
            self._loading.add(name)  # by the import that is about to run
            return
        known = _LOOKED_AT.get(name)
        # What is in a module is not touched here: a child would copy the page of each of its functions (200 us).
        if known is None or len(known[0]) != len(vars(module)):
            known = _LOOKED_AT[name] = _look_at(name, module)
        self._learnt[name], attributes, others = known
        self._attributes |= attributes
        self._plain -= attributes
        if name in OUTWARD and self._computed:
            self._taint()
        for other in others:
            self._learn(other)

    # What code can reach

    def _reaches_impure(self, codes: Iterable[CodeType]) -> bool:
        """Tell whether these codes, which name nothing strange, can reach it all the same."""
        namespace = self._namespace
        roots = [namespace[name] for code in codes for name in _all_names(code) if name in namespace]
        roots.append(builtins_of(namespace).get("_"))
        return any(thing is None or self._is_impure(thing) for thing in self._walk(roots))

    def _is_impure(self, thing: Any) -> bool:
        kind = type(thing)
        if issubclass(kind, ModuleType):
            name = thing.__name__
            learnt = self._learnt.get(name)
            return not _computes(name) or (learnt is not None and learnt != list(map(identity, vars(thing).values())))
        if kind is FunctionType:
            if thing.__globals__ is self._namespace:
                return not self._judge(thing.__code__, None)
            return not _is_of_known(thing) or thing.__name__ in self._attributes
        if kind is BuiltinFunctionType or issubclass(kind, type):
            if self._is_of_guest(thing):
                return "__del__" in vars(thing)
            return not _is_of_known(thing) or thing.__name__ in self._attributes or thing.__name__ in IMPURE
        return not (self._is_of_guest(kind) or _is_of_known(kind))

    def _is_of_guest(self, kind: Any) -> bool:
        return issubclass(type(kind), type) and not _is_of_library(kind)

    def _walk(self, roots: Iterable[Any]) -> Iterator[Any]:
        """All objects that these lead to, but for those that have no inside; then None if there are too many."""
        namespace = self._namespace
        seen = {identity(namespace), identity(builtins_of(namespace))}
        waiting = list(roots)
        while waiting:
            thing = waiting.pop()
            kind = type(thing)
            if kind in _ATOMS or (at := identity(thing)) in seen:
                continue
            seen.add(at)
            if len(seen) > MOST or len(waiting) > 10 * MOST:
                yield None
                return
            yield thing
            if issubclass(kind, ModuleType) or (issubclass(kind, type) and _is_of_library(thing)):
                continue
            if kind is FunctionType:
                if thing.__globals__ is not namespace:
                    continue
                waiting += [namespace[name] for name in _all_names(thing.__code__) if name in namespace]
            waiting += gc.get_referents(thing)

    def _shows_or_orders_addresses(self) -> bool:
        """Tell whether a text shows where an object of the program's lies, or the order of a set may hang on it: also
        of one that the step made and dropped.
        """
        values = [*self._namespace.values(), builtins_of(self._namespace).get("_")]
        kinds = [thing for thing in values if issubclass(type(thing), type) and not _is_of_library(thing)]
        if self._classes or any(kind.__hash__ is object.__hash__ for kind in kinds):
            if self._set_sources and not self._sets_of_anything:
                sources, self._set_sources = self._set_sources, [""]  # which says that there are sets
                self._sets_of_anything = self._fills_sets or any(
                    makes_sets_of_anything(source, self._namespace) for source in sources if source
                )
            if self._sets_of_anything:
                return True
        texts = self._texts and (self._classes or any(kind.__repr__ is object.__repr__ for kind in kinds))
        if texts and self._sorts:
            return True
        return (self._sets or texts) and any(
            thing is None
            or (issubclass(type(thing), _SETS) and not all(map(_hashes_by_value, thing)))
            or (texts and _shows_address(gc.get_referents(thing)))
            for thing in self._walk([values])
        )


def _shows_address(things: Iterable[Any]) -> bool:
    return any(
        type(thing) is str
        and (PART_OF_ADDRESS.search(thing) is not None if len(thing) <= PLAIN_CHARACTERS else "0x" in thing)
        for thing in things
    )


_KNOWN: Final = (
    *("_sets", "_views", "_operates", "_functions", "_texts", "_sorts", "_fills_sets", "_sets_of_anything"),
    *("_computed", "_listed", "_spelt", "_classes", "_random", "_tainted", "unpredictable"),
)
"""What is known of the steps so far, of `Repeatable`."""
_NAMED: Final = {code: opname[code] for code in hasname}
"""The instructions that have a name."""
_BITS: Final = {
    opmap.get("LOAD_GLOBAL"): 1,
    opmap.get("LOAD_ATTR"): 1 if sys.version_info >= (3, 12) else 0,
    opmap.get("LOAD_SUPER_ATTR"): 2,
    opmap.get("IMPORT_NAME"): 2 if sys.version_info >= (3, 15) else 0,
}
"""How many bits of an instruction's argument, below the place of its name, say something else."""


def named(code: CodeType) -> Iterator[tuple[str, str]]:
    """Each name that the code names, with the instruction that does. (As `dis` tells it, which takes 20 times as long,
    and a child 5 ms to import.)
    """
    names, raw, above = code.co_names, code.co_code, 0
    for does, argument in zip(raw[::2], raw[1::2], strict=True):
        argument |= above
        above = argument << 8 if does == EXTENDED_ARG else 0
        if does in _NAMED:
            yield names[argument >> _BITS.get(does, 0)], _NAMED[does]


_FROM = ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_")
_GLOBAL = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT")


def builtins_of(namespace: dict[str, Any]) -> dict[str, Any]:
    """Return what code of that namespace finds as builtins."""
    found = namespace.get("__builtins__")
    return found if type(found) is dict else vars(found) if type(found) is ModuleType else {}


def _computes(name: str) -> bool:
    """Tell whether a module of that name only computes."""
    parts = name.split(".")
    return parts[0].lstrip("_") in _TOPS and ".".join(parts[:2]) not in NOT_BELOW


_TOPS = frozenset(name.lstrip("_") for name in MODULES)


_REHEARSED: Final = """
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
"""Has some of all that is looked at, and is never run."""
_REHEARSED_CODE: Final = compile(_REHEARSED, "<rehearsal>", "exec")


class _Rehearsed:
    held: ClassVar[dict[str, tuple[int, float]]] = {"three": (3, 3.5)}


def rehearse() -> None:
    """Look at a program as at a step that has run. The zygote's interpreter specialises this code then, and a child
    touches in think time what its first class would: 0.3 ms of a step of 1 ms.
    """
    known = Repeatable({"Kind": _Rehearsed, "kind": [_Rehearsed(), {1, 2}, (1.5, "two")]}, (), ())
    known.inspect(_REHEARSED, _REHEARSED_CODE, None)
    known._classes = True
    known._shows_or_orders_addresses()


_LOOKED_AT: dict[str, tuple[list[int], frozenset[str], list[str]]] = {}
"""Of each module: what was in it, the attributes that lead out of it, and the other modules that it has."""


def look_at_modules() -> None:
    """Look at all that are loaded, once for all children."""
    for name in MODULES & sys.modules.keys():
        Repeatable({}, (), ())._learn(name)


def _look_at(name: str, module: ModuleType) -> tuple[list[int], frozenset[str], list[str]]:
    contents = list(map(identity, vars(module).values()))
    outward, others = set(OUTWARD.get(name, ())), []
    for attribute, value in list(vars(module).items()):
        if isinstance(value, ModuleType):
            if _computes(value.__name__):
                if value.__name__.partition(".")[0] != name.partition(".")[0]:
                    others.append(value.__name__)
                continue
        elif not callable(value) or attribute[:1] == "_" or _is_of_known(value):
            continue
        outward.add(attribute)
    return contents, frozenset(outward), others


def _is_of_known(thing: Any) -> bool:
    """Tell whether a function or class is of a module that only computes, or of the language."""
    module = getattr(thing, "__module__", None)
    if type(module) is not str:
        owner = type(getattr(thing, "__self__", None))  # of a method that is written in C
        return owner in _ATOMS or (type(owner.__module__) is str and _computes(owner.__module__))
    return module == "builtins" or _computes(module)


def _is_of_library(kind: type) -> bool:
    """Tell whether a class is one that its module has under its name, or the interpreter's own."""
    module = kind.__dict__.get("__module__") if type(kind.__dict__.get("__module__")) is str else kind.__module__
    if module == "__main__":
        return False
    if not kind.__flags__ & _HEAP_TYPE:
        return True
    found: Any = sys.modules.get(module) if type(module) is str else None
    for part in kind.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is kind or (type(module) is str and module != "__main__" and module in sys.modules)


_HEAP_TYPE = 1 << 9


def _operators(code: CodeType) -> Iterator[tuple[int, int]]:
    return zip(code.co_code[::2], code.co_code[1::2], strict=True)


def _texts_in(constant: tuple[Any, ...] | frozenset[Any]) -> Iterator[str]:
    for item in constant:
        if type(item) is str:
            yield item
        elif type(item) in (tuple, frozenset):
            yield from _texts_in(item)


def _all_names(code: CodeType) -> set[str]:
    names: set[str] = set()
    waiting = [code]
    while waiting:
        one = waiting.pop()
        names.update(one.co_names)
        waiting += [inside for inside in one.co_consts if type(inside) is CodeType]
    return names


_SETS = (set, frozenset)


def _hashes_by_value(item: Any) -> bool:
    """Tell whether the hash of an item of a set is the same wherever the item lies."""
    kind = type(item)
    if kind is float:
        return bool(item == item)
    if kind in _ATOMS:
        return True
    if kind in (tuple, frozenset):
        return all(map(_hashes_by_value, item))
    hashing: Any = kind.__hash__
    if hashing is object.__hash__ or hashing is type.__hash__:
        return False
    if hashing is tuple.__hash__ or hashing is frozenset.__hash__:
        return all(map(_hashes_by_value, item))
    if type(hashing) is FunctionType and not _is_of_known(hashing):
        inside = getattr(item, "__dict__", None)
        return type(inside) is dict and all(map(_hashes_by_value, inside.values()))
    return True


def _told(done: StepDone, namespace: dict[str, Any]) -> bytes:
    """Return what the step told and did to the variables, in bytes: the same when it is done once more."""
    error, changes = done.error, done.changes
    told: list[Any] = [done.outcome, done.text, done.exit_status]
    if error is not None:
        told += [error.type, error.message, error.line]
    if changes is not None:
        told += [changes.created, changes.changed, changes.deleted, list(changes.descriptions.values())]
        for name in islice((*changes.created, *changes.changed), 20):
            value = namespace.get(name)
            if type(value) in _NUMBERS or _plain_items(value, PLAIN_ITEMS) >= 0:
                told.append(value)
    return marshal.dumps(told, 2)


def _plain_items(value: Any, left: int) -> int:
    """Tell how many items fewer than `left` a value has; negative for one that has more, or is none of plain data."""
    kind = type(value)
    if kind in _ATOMS:
        if kind is CodeType:
            return -1
        return left - 1 if kind not in (str, bytes) or len(value) <= PLAIN_CHARACTERS else -1
    if kind is dict:
        if len(value) * 2 > left:
            return -1
        value = (*value, *value.values())
    elif kind not in (list, tuple, set, frozenset) or len(value) > left:
        return -1
    left -= 1
    for item in value:
        left = _plain_items(item, left)
        if left < 0:
            return -1
    return left
