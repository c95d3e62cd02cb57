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


@pytest.mark.parametrize("kind", SAMPLES)
def test_methods_of_other_languages_are_missing_and_those_of_python_exist(kind: str) -> None:
    obj = SAMPLES[kind]
    assert not [name for name in ATTRIBUTES[kind] if hasattr(obj, name)]
    methods = [found for text in ATTRIBUTES[kind].values() for found in re.findall(r"`\{obj\}\.(\w+)", text)]
    assert not [name for name in methods if not hasattr(obj, name)]
