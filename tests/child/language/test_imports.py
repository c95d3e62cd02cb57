"""Import statements of guest code, and imports that library code makes while guest code runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]


def test_an_import_gives_a_facade(guest: Run) -> None:
    import json

    assert guest("import json\njson") is not json
    assert guest("json.loads('[1]')") == [1]
    with pytest.raises(AttributeError):
        guest("json.codecs")


def test_dotted_imports_and_aliases(guest: Run) -> None:
    import collections.abc

    assert guest("import collections.abc\ncollections.abc.Sized") is collections.abc.Sized
    assert guest("import collections.abc as c\nc.Sized") is collections.abc.Sized
    assert guest("from collections import abc\nabc.Sized") is collections.abc.Sized


def test_a_missing_name_is_an_import_error(guest: Run) -> None:
    with pytest.raises(ImportError, match="cannot import name 'squrt' from 'math'"):
        guest("from math import squrt")


def test_a_refused_module_with_a_fallback_raises_when_it_runs(guest: Run) -> None:
    assert (
        guest("try:\n    import os\nexcept ImportError as e:\n    found = str(e)\n'os' in found and 'refused' in found")
        is True
    )


def test_relative_imports(guest: Run) -> None:
    with pytest.raises(ImportError, match="attempted relative import with no known parent package"):
        guest("from . import x")


def test_imports_of_library_code_are_its_own(guest: Run) -> None:
    """`strptime` imports `_strptime` through the guest's builtins; the guest itself may not."""
    sys.modules.pop("_strptime", None)
    assert guest("from datetime import datetime\ndatetime.strptime('2024', '%Y').year") == 2024
    with pytest.raises(Exception, match="_strptime"):
        guest("import _strptime")


def test_future_statements(guest: Run) -> None:
    assert guest("from __future__ import annotations\ndef f(x: Later): pass\nf.__annotations__") == {"x": "Later"}


def test_star_import_brings_the_names_of_the_facade(guest: Run) -> None:
    assert guest("from math import *\nsqrt(16), 'sys' in globals()") == (4.0, False)
