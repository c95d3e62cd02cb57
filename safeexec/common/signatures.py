"""Signatures as guest code and models read them: no modules of the host, and no default that may be a secret."""

from __future__ import annotations

import inspect
import re
import typing
from typing import Any

from safeexec.common.text import Source, default_text

_MODULE = re.compile(r"""'[^']*'|"[^"]*"|\b(?!datetime\.|decimal\.|uuid\.)[^\W\d]\w*(?:\.[^\W\d]\w*)*\.(?=[^\W\d])""")
"""Quoted text, or what stands before a class: its module."""


def shown(annotation: Any) -> str:
    """Return a type hint as guest code reads it: without module names, which it cannot import."""
    if not isinstance(annotation, str):
        if typing.get_origin(annotation) is typing.Annotated:
            annotation = typing.get_args(annotation)[0]
        annotation = inspect.formatannotation(annotation)
    return _MODULE.sub(lambda match: match[0] if match[0][0] in "'\"" else "", annotation)


def signature(of: inspect.Signature) -> str:
    """Return a signature as guest code reads it."""
    empty = of.empty
    parameters = []
    for one in of.parameters.values():
        annotation = "" if one.annotation is empty else shown(one.annotation)
        default = empty if one.default is empty else Source(default_text(one.default, annotation))
        parameters.append(one.replace(annotation=Source(annotation) if annotation else empty, default=default))
    returns = of.return_annotation
    return str(
        of.replace(parameters=parameters, return_annotation=returns if returns is empty else Source(shown(returns)))
    )
