"""`identity(value)`: a number that no other living object has, as `id` gives, but without an audit event.

`id` raises ``builtins.id``, and a process that listens to audit events, as a child does, pays 0.4 us for each: 50 us a
step in a namespace of 60 names. The hash that every object inherits is its address, rotated (`_Py_HashPointer`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

identity: Callable[[Any], int] = object.__hash__
