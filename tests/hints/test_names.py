"""The tables of names: what they say is gone is gone, and what they recommend exists."""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
import importlib
import re
from typing import Any

import pytest

from safeexec.hints.tables.attributes import MODULE_ATTRIBUTES
from safeexec.hints.tables.foreign import ATTRIBUTES
from safeexec.hints.tables.libraries import METHODS
from safeexec.language.refusals import of_name

pytest.importorskip("sklearn")
pytest.importorskip("scipy")
pytest.importorskip("matplotlib")
pytest.importorskip("pandas")
SHORT = {"np": "numpy", "pd": "pandas", "plt": "matplotlib.pyplot"}
MODULES = (
    "np|pd|plt|numpy|scipy|sklearn|math|cmath|statistics|random|datetime|itertools|functools|collections|json|re|time"
)
DOTTED = re.compile(rf"(?<![\w.'\]])((?:{MODULES})(?:\.\w+)+)")
SAMPLES: dict[str, Any] = {
    "str": "a", "list": [1], "dict": {}, "defaultdict": collections.defaultdict(int), "Counter": collections.Counter(),
    "set": set(), "frozenset": frozenset(), "tuple": (1,), "int": 1, "float": 1.5, "Fraction": fractions.Fraction(1),
    "Decimal": decimal.Decimal(1), "complex": 1j, "deque": collections.deque(), "bytes": b"", "range": range(3),
    "timedelta": datetime.timedelta(1), "Match": re.match("a", "a"), "generator": (x for x in []),
}  # fmt: skip


def exists(path: str) -> bool:
    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:count]))
            for part in parts[count:]:
                found = getattr(found, part)
        except ModuleNotFoundError:
            continue
        except (AttributeError, ImportError):
            return False
        return True
    return False


def recommended(text: str) -> list[str]:
    """The dotted names in the code of a sentence."""
    found = [name for code in re.findall(r"`([^`]*)`", text) for name in DOTTED.findall(code)]
    return [SHORT.get(head, head) + dot + rest for head, dot, rest in (name.partition(".") for name in found)]


@pytest.mark.filterwarnings("ignore")
def test_what_is_recommended_exists() -> None:
    texts = [
        text
        for advice in MODULE_ATTRIBUTES.values()
        for text in ([advice] if isinstance(advice, str) else advice.values())
    ]
    texts += [text for table in METHODS.values() for text in table.values()]
    missing = sorted({name for text in texts for name in recommended(text) if not exists(name)})
    assert not missing


@pytest.mark.filterwarnings("ignore")
def test_a_name_with_advice_is_missing_or_refused_for_what_it_does() -> None:
    """Some that exist are told for what programs mean by them."""
    refused = {"json.decoder", "sympy.evaluate", "sympy.evalf", "base64.encode"}
    refused |= {"itertools.batched", "re.PatternError"}  # which 3.11 does not have
    refused |= {"statistics.count"}  # 3.13 imports that of itertools there, for itself
    wrong = [
        full
        for full in MODULE_ATTRIBUTES
        if exists(full) and full not in refused and of_name(*full.rpartition(".")[::2]) is None and not _is_closed(full)
    ]
    assert not wrong


def _is_closed(full: str) -> bool:
    """Is it of a module that no profile opens whole: files, processes, the interpreter, the call stack?"""
    closed = "os sys io tempfile shutil pathlib codecs inspect traceback concurrent asyncio typing uuid enum operator"
    closed += " pandas matplotlib sklearn numpy"
    return full.partition(".")[0] in closed.split()


@pytest.mark.parametrize("kind", SAMPLES)
def test_methods_of_other_languages_are_missing_and_those_of_python_exist(kind: str) -> None:
    obj = SAMPLES[kind]
    assert not [name for name in ATTRIBUTES[kind] if hasattr(obj, name)]
    methods = [found for text in ATTRIBUTES[kind].values() for found in re.findall(r"`\{obj\}\.(\w+)", text)]
    assert not [name for name in methods if not hasattr(obj, name)]
