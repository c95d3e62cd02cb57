"""Checks what callers give a session before anything of it is sent: sources, queries, arguments, times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from safeexec.common.text import can_be_name
from safeexec.errors import PolicyError
from safeexec.protocol.arguments import encode_arguments, exceeded, foreign
from safeexec.results import ErrorInfo

if TYPE_CHECKING:
    from safeexec.engine.policy.model import Policy
    from safeexec.engine.policy.settings import Limits


def timeout_of(policy: Policy, timeout: float | None) -> float:
    """Return the limit of a step or a command in seconds: what was asked for, or else the policy's own. Raises
    TypeError, `PolicyError`.
    """
    limits = policy.limits
    if timeout is None:
        return limits.wall_seconds
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout is a number of seconds, not {timeout!r:.60}")
    if not 0 < timeout <= limits.max_wall_seconds:
        raise PolicyError(
            f"timeout={timeout!r} is out of bounds: the policy {policy.name!r} allows more than 0 and at most "
            f"{limits.max_wall_seconds:g} s (limits.max_wall_seconds, {policy.origin('limits.max_wall_seconds')})"
        )
    return float(timeout)


def checked_source(policy: Policy, source: str) -> tuple[bytes, ErrorInfo | None]:
    """Return a source as it crosses, and what is wrong with it if the policy allows fewer bytes. Raises TypeError."""
    if not isinstance(source, str):
        raise TypeError(f"source must be str, not {type(source).__name__}")
    text, allowed = source.encode("utf-8", "surrogatepass"), policy.limits.step_source_kb
    if len(text) <= allowed << 10:
        return text, None
    return text, ErrorInfo(
        type="PolicyViolation",
        message=f"the source has more than {allowed} KiB, which limits.step_source_kb allows",
        rule=policy.origin("limits.step_source_kb"),
        hint="Send the program in several smaller steps; variables are kept between them.",
    )


def arguments_for(path: str, args: tuple[Any, ...], kwargs: dict[str, Any], limits: Limits) -> bytes:
    """Return the arguments of a call as they cross. Raises TypeError for those that cannot."""
    payload = encode_arguments(args, kwargs, max_bytes=limits.value_kb << 10, max_depth=limits.value_depth)
    if payload.opaque:
        problem = exceeded(payload, value_kb=limits.value_kb, value_depth=limits.value_depth)
        problem = problem or foreign(args, kwargs, max_depth=limits.value_depth)
        raise TypeError(f"an argument of {path}() cannot cross into the sandbox: {problem}")
    return payload.data


def checked_query(query: str, name: str | None) -> bytes:
    """Return a SQL query as it crosses. Raises TypeError, and ValueError where `name` is no variable's."""
    if not isinstance(query, str):
        raise TypeError(f"query must be str, not {type(query).__name__}")
    if name is not None and not can_be_name(name):
        raise ValueError(f"{name!r} is not a variable name")
    return query.encode("utf-8", "surrogatepass")
