"""The tables judge every name that the modules of this Python and its libraries document."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
import warnings
from collections.abc import Callable

import pytest

from safeexec.facades import tables
from safeexec.facades.build import facade
from safeexec.facades.tables.groups import GROUPS, REFUSED_MODULES
from safeexec.facades.tables.reasons import UNLISTED, Reason
from safeexec.protocol.plan import LanguagePlan

MakePlan = Callable[..., LanguagePlan]
MODULES = sorted(tables.modules())

WRAPPED_BY_A_HOOK = {"asyncio.run", "asyncio.new_event_loop"} | {
    f"{module}.{name}" for module in ("tqdm", "tqdm.auto", "tqdm.std") for name in ("tqdm", "trange")
}
"""The real object, after a change to what it works on: the policy that makes event loops, a monitor thread."""

NOT_IN_EVERY_VERSION = {
    "IPython.core.display": "DisplayHandle clear_output display update_display",
    "ast": "ParamSpec PyCF_OPTIMIZED_AST TypeAlias TypeVar TypeVarTuple type_param",
    "asyncio": "QueueShutDown create_eager_task_factory eager_task_factory",
    "builtins": "PythonFinalizationError exit quit",
    "base64": "z85decode z85encode",
    "calendar": ("APRIL AUGUST DECEMBER Day FEBRUARY JANUARY JULY JUNE MARCH MAY Month NOVEMBER OCTOBER SEPTEMBER"),
    "collections.abc": "Buffer",
    "configparser": "LegacyInterpolation MultilineContinuationError SafeConfigParser UNNAMED_SECTION",
    "copy": "replace",
    "csv": "QUOTE_NOTNULL QUOTE_STRINGS",
    "enum": "EnumDict",
    "glob": "translate",
    "inspect": (
        "AGEN_CLOSED AGEN_CREATED AGEN_RUNNING AGEN_SUSPENDED BufferFlags getasyncgenstate markcoroutinefunction"
    ),
    "itertools": "batched",
    "logging": "getHandlerByName getHandlerNames",
    "math": "fma sumprod",
    "mimetypes": "guess_file_type",
    "os": "process_cpu_count",
    "os.path": "isdevdrive isjunction splitroot",
    "pathlib": "UnsupportedOperation",
    "queue": "ShutDown",
    "random": "binomialvariate",
    "re": "PatternError",
    "sqlite3": "LEGACY_TRANSACTION_CONTROL version version_info",
    "statistics": "kde kde_random",
    "sys": "getunicodeinternedsize",
    "token": (
        "ASYNC AWAIT EXCLAMATION FSTRING_END FSTRING_MIDDLE FSTRING_START SOFT_KEYWORD TSTRING_END TSTRING_MIDDLE "
        "TSTRING_START"
    ),
    "networkx.algorithms.isomorphism": (
        "vf2pp_all_monomorphisms vf2pp_all_subgraph_isomorphisms vf2pp_is_monomorphic vf2pp_monomorphism "
        "vf2pp_subgraph_is_isomorphic vf2pp_subgraph_isomorphism"
    ),
    "tokenize": (
        "ASYNC AWAIT EXCLAMATION FSTRING_END FSTRING_MIDDLE FSTRING_START SOFT_KEYWORD TSTRING_END TSTRING_MIDDLE "
        "TSTRING_START StopTokenizing Untokenizer"
    ),
    "types": "CapsuleType get_original_bases",
    "typing": "NoDefault ReadOnly TypeAliasType TypeIs get_protocol_members is_protocol override",
    "unittest": "findTestCases getTestCaseNames makeSuite",
    "unittest.mock": "ThreadingMock",
    "uuid": "MAX NIL uuid7 uuid8",
    "warnings": "deprecated",
}
"""Names that the standard library gained or lost between 3.11 and 3.14, and libraries between their releases."""


def _import(name: str) -> types.ModuleType:
    if importlib.util.find_spec(name.partition(".")[0]) is None:
        pytest.skip(f"{name} is not installed")
    try:
        return importlib.import_module(name)
    except ImportError as error:  # `lxml.cssselect` raises it where a package that it needs is missing
        pytest.skip(f"{name} cannot be imported here: {error}")


def _has(module: types.ModuleType, name: str) -> bool:
    try:
        return hasattr(module, name)
    except ImportError:  # scikit-learn's experimental names ask for an import of their own
        return True


def _value(module: types.ModuleType, name: str) -> object:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(module, name)
    except (AttributeError, ImportError):
        return None


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_is_judged(name: str) -> None:
    """A new name is refused until somebody judges it; this test says which one it is. What is in capitals and in no
    ``__all__`` is a constant of the module's own: it needs no entry, and is refused.
    """
    module = _import(name)
    table = tables.table(name)
    assert table is not None
    listed = getattr(module, "__all__", None)
    public = dir(module) if listed is None else listed
    judged = table.allowed.keys() | table.refused.keys() | tables.submodules(name).keys()
    unjudged = {
        item
        for item in set(public) - judged
        if not item.startswith("_") and _has(module, item)
        if not isinstance(value := _value(module, item), types.ModuleType) and not _is_a_guard(value)
        if listed is not None or (not item.isupper() and _is_of(module, value))
    }
    assert not unjudged


def _is_of(module: types.ModuleType, value: object) -> bool:
    """Is it defined in the module, or in a package's own modules? Data does not say where it is from."""
    home = getattr(value, "__module__", None)
    inside = hasattr(module, "__path__") and str(home).startswith(f"{module.__name__}.")
    return not isinstance(home, str) or home == module.__name__ or inside


def _is_a_guard(value: object) -> bool:
    """Whether the child's language layer has put it into the module: another test may have had one in this process."""
    return isinstance(value, types.SimpleNamespace) or str(getattr(value, "__module__", "")).startswith("safeexec.")


@pytest.mark.parametrize("name", MODULES)
def test_no_name_is_both_allowed_and_refused(name: str) -> None:
    table = tables.table(name)
    assert table is not None
    assert not table.contradictions()


@pytest.mark.parametrize("name", MODULES)
def test_no_allowed_name_is_a_module_of_its_own(name: str) -> None:
    """A module appears in a facade only as a facade, through a table of its own."""
    module = _import(name)
    table = tables.table(name)
    assert table is not None
    assert not {item for item in table.allowed if isinstance(_value(module, item), types.ModuleType)}


@pytest.mark.parametrize("name", [name for name in MODULES if tables.table(name).replaced])  # type: ignore[union-attr]
def test_a_replaced_name_is_not_the_real_object(plan: MakePlan, name: str) -> None:
    module = _import(name)
    table = tables.table(name)
    assert table is not None
    made = facade(name, plan(name, workspace="read-write"))
    for item in table.replaced:
        if not hasattr(module, item):
            continue
        value = getattr(made, item)
        if callable(value) and f"{name}.{item}" not in WRAPPED_BY_A_HOOK:
            ours = value.__module__.startswith("safeexec.")  # also in the module, once another test has guarded it
            assert ours or value is not getattr(module, item), item


@pytest.mark.parametrize("name", MODULES)
def test_allowed_names_exist_or_belong_to_another_version(name: str) -> None:
    """A typing mistake in a table would open nothing and go unnoticed. Libraries may add and remove a few names."""
    module = _import(name)
    table = tables.table(name)
    assert table is not None
    missing = {item for item in table.allowed if not _has(module, item)}
    if name.partition(".")[0] in sys.stdlib_module_names:
        assert missing <= set(NOT_IN_EVERY_VERSION.get(name, "").split())
    else:
        missing -= set(NOT_IN_EVERY_VERSION.get(name, "").split())
        assert len(missing) <= 2 + len(table.allowed) // 10, missing


def test_a_refused_module_has_no_table() -> None:
    reviewed = {module for names in GROUPS.values() for module in names.split()}
    assert not reviewed & set(REFUSED_MODULES)
    assert not set(MODULES) & set(REFUSED_MODULES)


@pytest.mark.parametrize(
    ("module", "name", "tag"),
    [
        ("numpy", "ctypeslib", "memory"),
        ("numpy", "f2py", "evaluates"),
        ("numpy.lib.stride_tricks", "as_strided", "memory"),
        ("pandas", "read_pickle", "pickle"),
        ("pandas", "read_clipboard", "process"),
        ("sklearn.datasets", "fetch_openml", "network"),
        ("os", "system", "process"),
        ("sys", "_getframe", "internal"),
        ("sys", "meta_path", "evaluates"),
        ("typing", "ForwardRef", "evaluates"),
        ("types", "CodeType", "frames"),
        ("uuid", "getnode", "machine"),
        ("random", "_os", "internal"),
        ("subprocess", "run", "process"),
        ("pickle", "Unpickler", "pickle"),
    ],
)
def test_what_must_never_be_allowed(module: str, name: str, tag: str) -> None:
    verdict = tables.judge(module, name)
    assert not verdict.allowed
    assert verdict.tag == tag
    assert verdict.reason


def test_nobody_judged_means_refused() -> None:
    assert tables.judge("math", "squrt") == (False, UNLISTED.text, "")
    assert tables.judge("left_pad", "pad") == (False, "it has not been reviewed", "")


def test_each_reason_is_a_sentence_with_a_kind() -> None:
    for name in MODULES:
        table = tables.table(name)
        assert table is not None
        for reason in table.refused.values():
            assert isinstance(reason, Reason)
            assert reason.text and reason.tag
