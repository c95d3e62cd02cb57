"""A session of either kind as what the tools of a framework run code in, and the text that a model gets of a step."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from safeexec import AsyncSession

if TYPE_CHECKING:
    from safeexec import Policy, Result, Session


def described(session: Session | AsyncSession, policy: Policy | str | None) -> Any:
    """Return what describes the tool: `policy`, or the session itself. Raises TypeError for what is no session."""
    if not (hasattr(session, "run") and hasattr(session, "checkpoint")):
        raise TypeError(
            "the tool runs code in a session, which you open and close; found "
            f"{type(session).__name__}: write `with Sandbox(policy) as sandbox, sandbox.session() as session:`"
        )
    return session if policy is None else policy


async def run_async(session: Session | AsyncSession, code: str) -> Result:
    """Run one step, in an event loop; of a blocking session in a thread."""
    given: Any = session
    if isinstance(given, AsyncSession):
        return await given.run(code)
    found: Result = await asyncio.to_thread(given.run, code)
    return found


def pictures(result: Result) -> list[tuple[str, str]]:
    """Return the pictures of a step that a model may see: MIME type and base64."""
    blocks = result.observation(format="mcp")
    return [(block["mimeType"], block["data"]) for block in blocks if block["type"] == "image"]


def hand_over(session: Session, name: str, value: Any) -> None:
    """Bind a variable. A text that is longer than one value may be (a document that a model is to read) crosses in
    parts. Raises TypeError for what cannot cross.
    """
    size = session.policy.limits.value_kb << 10
    if type(value) is not str or len(value) <= size // 8:
        session.set(name, value)
        return
    step = size // 8  # a character has up to four bytes
    session.set(name, [])
    for begin in range(0, len(value), step):
        session.set(_PART, value[begin : begin + step])
        session.run(f"{name}.append({_PART})").check()
    session.run(f"{name} = ''.join({name})\ndel {_PART}").check()


_PART = "part_that_is_handed_over"
