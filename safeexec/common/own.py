"""Modules of the standard library as they are before a guest's first step. What a program puts in the place of their
names later, it puts there for itself: our code in its process goes on with these.
"""

from __future__ import annotations

from types import ModuleType

from safeexec.common.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import ast as ast
    import contextlib as contextlib
    import gc as gc
    import os as os
    import resource as resource
    import select as select
else:

    def _kept(name: str) -> ModuleType:
        copy = ModuleType(name)
        try:
            vars(copy).update(vars(__import__(name)))
        except ImportError:  # Windows has no `resource`, and no child that would ask it
            pass
        return copy

    ast, contextlib, gc = map(_kept, ("ast", "contextlib", "gc"))
    os, resource, select = map(_kept, ("os", "resource", "select"))
    os.path = _kept("posixpath")
