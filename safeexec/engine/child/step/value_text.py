"""The text of a step's value."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from safeexec.common.text import short_repr

TEXT_CHARACTERS = 20_000
"""The most characters of the repr of a value; of a longer one the beginning and the end are kept."""
SHOWN_DIGITS = 20_000
"""The most digits of a number that is a step's value: 5 ms. `str` of guest code stops at 4300 digits."""
_SLICED = (str, bytes, list, tuple)


def shown(value: Any, sources: Mapping[str, str]) -> str:
    """Return `repr(value)`, or a short one of a value that Python or a library cannot write: an exact number past the
    digits that `str` allows, whatever class holds it, and what is nested past the recursion limit are values all the
    same. What code of the guest's raises, a file of `sources`, is the step's error, as at a prompt.
    """
    kind = type(value)
    try:
        if kind in _SLICED and len(value) > TEXT_CHARACTERS:
            return _ends_of(value, kind)
        return str.__str__(repr(value))  # a `__repr__` may give text of a class of its own
    except (ValueError, RecursionError) as error:
        from safeexec.engine.child.step.tracebacks import guest_frames  # few values cannot be written

        if guest_frames(error, sources):
            raise
    digits = sys.get_int_max_str_digits()
    if 0 < digits < SHOWN_DIGITS:
        sys.set_int_max_str_digits(SHOWN_DIGITS)
        try:
            return str.__str__(repr(value))
        except (ValueError, RecursionError):
            pass
        finally:
            sys.set_int_max_str_digits(digits)
    return short_repr(value, TEXT_CHARACTERS)


def _ends_of(value: Any, kind: type) -> str:
    """Return as much of a long value's repr as is kept: half at each end (1 MB of bytes: 0.1 ms instead of 3)."""
    half = TEXT_CHARACTERS // 2 + 1
    count = half if kind is str or kind is bytes else half // 3 + 2  # an item and what parts it from the next: three
    return repr(value[:count])[:half] + " … " + repr(value[-count:])[-half:]
