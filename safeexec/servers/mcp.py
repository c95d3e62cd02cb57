"""The server for models: a server of the Model Context Protocol over an `AsyncSandbox`, by the protocol's official SDK.

A session is reached by a handle that is made here and cannot be guessed; whoever has it, has the session. Tools take it
as `session_id`, so nothing hangs on a connection: the revision of 2026-07-28, which knows none, and earlier clients see
the same. Newer clients are asked for an approval by ending the request: the step waits, and goes on when another one
brings the answer.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from functools import partial
from secrets import token_urlsafe
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.shared.exceptions import MCPError
from mcp.types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    TextContent,
    ToolAnnotations,
)
from pydantic import BeforeValidator, Field, ValidationError

from safeexec import (
    Allow,
    AsyncSandbox,
    AsyncSession,
    Deny,
    Later,
    Policy,
    Result,
    SandboxBusy,
    SandboxError,
    SessionClosed,
    WaitingCall,
    __version__,
)
from safeexec.common.text import head_and_tail, printable, short_repr, shorten
from safeexec.results.jsonable import jsonable, size_of
from safeexec.servers.account import ClientAccount, apart, count_untaken, room

MAX_SESSIONS = 32
"""Open sessions. For one more, the one that was not used for longest is closed."""
MAX_BRANCHES = 8
IDLE_SECONDS = 1800.0
REMEMBERED = 1000
"""Handles of closed sessions, kept to say why they are gone."""
MAX_DESCRIPTION = 2000
MAX_VALUE = 20_000
"""About how many characters of a step's value as JSON; beyond, its short text stands there, for a client may show it to
its model.
"""
MAX_WORDS = 1000
"""Characters of one progress message, and of a call in a question."""
MAX_FILE = 4 << 20
COPIES = 4
"""How many copies of a file that is read the SDK holds until its task ends: text, structure, and JSON of both."""

_CONTROLS = bytes({*range(32)} - {*b"\t\n\r"}) + b"\x7f"

Text = Annotated[str, BeforeValidator(lambda given: "" if given is None else given)]
"""Optional text: empty for none, and null is taken. (The SDK would parse a `str | None` as JSON.)"""

ToolAnswer: TypeAlias = CallToolResult | InputRequiredResult
"""The end of a request: an answer, or a question."""
INSTRUCTIONS = (
    "Runs Python in sandboxes. run_python without session_id starts a session and gives its session_id; pass that on, "
    "and variables stay from call to call. A step that is stopped is undone; checkpoint, rollback and branch move "
    "between states. A step whose outcome is `waiting` goes on with `answer`. The resource safeexec://policy says what "
    "code may do."
)
RUN = (
    "Run Python: its output, errors, and the last expression's value. Pass the session_id of the answer to the next "
    "call, and variables stay.\n\n"
)


# What tools answer


def _answer(structured: dict[str, Any], content: list[Any] | None = None) -> CallToolResult:
    """Return `structured`, also as text where no `content` is given. Lone surrogates become question marks."""
    text = json.dumps(structured, ensure_ascii=False).encode("utf-8", "replace").decode()
    return CallToolResult(
        content=content or [TextContent(type="text", text=text)], structured_content=json.loads(text), is_error=False
    )


def _read(handle: str, data: bytes) -> CallToolResult:
    """Return the answer with a file. One with many control characters, 13 characters of the answer each, is no text."""
    content, encoding = "", "base64"
    if 8 * (len(data) - len(data.translate(None, _CONTROLS))) <= len(data):
        with suppress(UnicodeDecodeError):
            content, encoding = data.decode(), "utf-8"
    if encoding == "base64":
        content = base64.b64encode(data).decode()
    return _answer({"session_id": handle, "content": content, "encoding": encoding, "size": len(data)})


def _of_step(handle: str, result: Result) -> CallToolResult:
    blocks = result.observation(format="mcp")
    assert isinstance(blocks, list)
    answer = {
        "session_id": handle,
        "observation": blocks[0]["text"],
        "outcome": result.outcome,
        "value": jsonable(result.value) if size_of(result.value, MAX_VALUE) <= MAX_VALUE else result.text,
        "error": result.error and _parts(result.error, "type", "message", "line", "rule", "hint"),
        "changes": _parts(result.changes, "created", "changed", "deleted"),
        "state": result.state,
        "files": [_parts(file, "name", "change", "size") for file in result.files],
        "waiting_for": result.waiting_for and _parts(result.waiting_for, "tool", "asked", "note"),
    }
    if result.step == 1:  # some clients show a model the text alone, and it is to pass this on
        blocks = [*blocks, {"type": "text", "text": f"session_id: {handle}"}]
    return _answer(answer, blocks)


def _parts(of: object, *names: str) -> dict[str, Any]:
    """Return the attributes of `of` that are named."""
    return {name: getattr(of, name) for name in names}


# Steps

_NO_FIELDS = {"type": "object", "properties": {}}
_UNANSWERED = Later("the person at the client has not answered")
_ASK: ContextVar[Callable[[str], Awaitable[ElicitResult]] | Deny | Later] = ContextVar("_ASK")
"""How the client of the running step asks its person while the step stands still; else what comes of a call that needs
an approval.
"""


class RunningStep:
    """A step, and what the request that attends to it is to hear of meanwhile."""

    def __init__(self, run: Callable[[RunningStep], Coroutine[Any, Any, ToolAnswer]]) -> None:
        self.news = asyncio.Event()
        """Some of what follows has changed, or the step has ended."""
        self.progress = ""
        self.count = 0
        self.task = asyncio.create_task(run(self))
        self.task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[ToolAnswer]) -> None:
        if not task.cancelled():
            task.exception()  # a client that left does not ask for it
        self.news.set()

    def notify(self, text: str) -> None:
        """Keep the newest of output and progress: a client that reads slowly misses what came before it."""
        self.progress = printable(text[-MAX_WORDS:])
        self.news.set()

    def moved(self, what: str, done: float, of: float | None) -> None:
        """Notify the client of a progress bar that has moved."""
        self.notify(" ".join(filter(None, (what, f"{done:g}" if of is None else f"{done:g} of {of:g}"))))


async def _approve(tool: str, arguments: Mapping[str, Any]) -> Allow | Deny | Later:
    """Return whether the person at the client of the running step lets it call a tool."""
    ask = _ASK.get()
    if isinstance(ask, Deny | Later):
        return ask
    try:
        return _decided(await ask(_question(tool, arguments)))
    except (MCPError, ValueError) as error:
        return Deny(f"the client could not be asked: {error}")


def _question(tool: str, arguments: Mapping[str, Any]) -> str:
    shown = printable(", ".join(f"{name}={short_repr(value)}" for name, value in arguments.items()))
    return f"Code in the sandbox wants to call {tool}({shorten(shown, MAX_WORDS)}). Allow it?"


def _decided(answer: object) -> Allow | Deny:
    """Read what a client answers; whatever is no answer is a no."""
    accepted = isinstance(answer, ElicitResult) and answer.action == "accept"
    return Allow() if accepted else Deny("the person at the client did not allow it")


def _asker(ctx: Context) -> Callable[[str], Awaitable[ElicitResult]] | Deny | Later:
    """Return how this client is asked: by a request of ours where the connection carries it, else by ending its own."""
    can = ctx.client_capabilities and ctx.client_capabilities.elicitation
    if not can or (can.url is not None and can.form is None):
        return Deny("it needs an approval, and this client cannot ask for one (elicitation)")
    request = ctx.request_context
    if not request.session.can_send_request:
        return _UNANSWERED
    return partial(request.session.elicit_form, requested_schema=_NO_FIELDS, related_request_id=request.request_id)


async def _cancel_when_gone(ctx: Context, step: RunningStep) -> None:
    """Stop a step whose client goes away: over HTTP its connection ends, and it says nothing in the protocol."""
    request = ctx.request_context.request
    if request is not None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        step.task.cancel()


# The server


class StrictTool(Tool):
    """A tool that refuses arguments it does not have: a misspelt `session_id` would begin a new session."""

    @classmethod
    def of(cls, function: Callable[..., Any], **options: Any) -> Tool:
        tool = cls.from_function(function, **options)
        tool.parameters["additionalProperties"] = False
        return tool

    async def run(self, arguments: dict[str, Any], context: Context, convert_result: bool = False) -> Any:
        known = self.parameters["properties"]
        if unknown := [shorten(printable(name), 60) for name in arguments if name not in known]:
            raise ToolError(f"{self.name} has no argument {unknown[0]!r}; its arguments are {', '.join(known)}")
        try:
            return await super().run(arguments, context, convert_result)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):  # its own text is long, and has links
                wrong = error.__cause__.errors(include_url=False, include_input=False)
                problems = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in wrong)
                raise ToolError(f"{self.name}: {problems}") from None
            raise


class SharedSession(NamedTuple):
    """A session behind a handle. Whoever uses it waits for those who came before."""

    session: AsyncSession
    lock: asyncio.Lock


class Question(NamedTuple):
    """The question that ended a request: the call for which the step of this number waits in the session of a handle.
    No other step of the session has that number.
    """

    handle: str
    step: int


class McpServer:
    """The tools, over one sandbox. `server` offers them between `open` and `close`."""

    def __init__(self, policy: str | Policy, tools: Sequence[Callable[..., Any]] = ()) -> None:
        self._sandbox = AsyncSandbox(policy, tools=tools, approval=_approve, idle_seconds=IDLE_SECONDS)
        self._account = ClientAccount()
        self._open: dict[str, SharedSession] = {}
        """By handle, in the order of their last use."""
        self._minting = asyncio.Lock()
        """Held while sessions are made, so that they are counted."""
        self._gone: dict[str, str] = {}
        self._steps: dict[asyncio.Task[ToolAnswer], str] = {}
        """The steps that run or wait for their turn, with the handle that they were given."""
        self._asked: dict[str, Question] = {}
        """The questions that a later request may answer, by what that repeats."""
        self._card = self._sandbox.policy.card(tools=tools)
        self.protocol = MCPServer(
            "safeexec", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING", tools=self._tools()
        )
        self.protocol.resource("safeexec://policy", mime_type="text/plain")(self.policy)

    def _tools(self) -> list[Tool]:
        """Return what the server offers."""
        description, _ = head_and_tail(RUN + self._card, MAX_DESCRIPTION - 50)
        plain = self.checkpoint, self.rollback, self.branch, self.files, self.answer, self.cancel_waiting
        return [
            StrictTool.of(self.run_python, description=description),
            StrictTool.of(self.list_variables, annotations=ToolAnnotations(read_only_hint=True)),
            *(StrictTool.of(tool) for tool in plain),
            StrictTool.of(self.close_session, name="close"),
        ]

    async def open(self) -> None:
        """Begin to open the sandbox, which may take seconds: clients leave a silent server. Raises `SandboxError`."""
        self.opening = asyncio.create_task(self._sandbox.open())
        await asyncio.sleep(0)
        if self.opening.done():
            await self.opening

    async def close(self) -> None:
        """Stop every step, and end every session."""
        ending = [self.opening, *self._steps]
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        await self._sandbox.close()

    # Tools

    async def run_python(
        self, code: str, ctx: Context, session_id: Text = "", timeout: float | None = None, stdin: Text = ""
    ) -> CallToolResult | InputRequiredResult:
        options = {"timeout": timeout, "stdin": stdin or None}
        return await self._serve(ctx, session_id, partial(self._run, ctx, session_id, code, options))

    async def answer(self, session_id: str, ctx: Context) -> CallToolResult | InputRequiredResult:
        """Go on with a step whose outcome was `waiting`: the person at the client is asked, a tool that has put itself
        off is called again. The step runs again, to its end; calls that it had made are not made twice.
        """
        return await self._serve(ctx, session_id, partial(self._resume, ctx, session_id, None))

    async def cancel_waiting(self, session_id: str) -> CallToolResult:
        """Give up a step whose outcome was `waiting`. The session is as it was before it."""
        async with self._session(session_id) as (handle, session):
            await session.cancel_waiting()
            return _answer({"session_id": handle})

    async def _serve(
        self,
        ctx: Context,
        session_id: str,
        run: Callable[[RunningStep], Coroutine[Any, Any, ToolAnswer]],
    ) -> ToolAnswer:
        """Run a step, or go on with the one whose question a request answers, and pass on what it reports."""
        if ctx.request_state is not None:
            question = self._asked.pop(ctx.request_state, None)
            if question is None:
                raise ToolError("no step waits for this answer any more; run the code again")
            session_id = question.handle
            decided = _decided((ctx.input_responses or {}).get("approval"))
            run = partial(self._resume, ctx, session_id, (question.step, decided))
        step = RunningStep(run)
        self._steps[step.task] = session_id
        step.task.add_done_callback(self._steps.pop)
        try:
            return await self._attend(step, ctx)
        except BaseException:
            step.task.cancel()
            raise

    async def _run(
        self, ctx: Context, session_id: str, code: str, options: dict[str, Any], step: RunningStep
    ) -> ToolAnswer:
        _ASK.set(_asker(ctx))
        if "progress_token" in (ctx.request_context.meta or {}):
            options["on_output"] = step.notify
            options["on_progress"] = step.moved
        async with self._session(session_id or None) as (handle, session):
            return self._tool_answer(handle, await session.run(code, **options))

    async def _resume(
        self, ctx: Context, session_id: str, given: tuple[int, Allow | Deny] | None, _: RunningStep
    ) -> ToolAnswer:
        """Answer what a session waits for: with what the person at the client has said (`given`, about the call of that
        step and no other), or says now.
        """
        _ASK.set(_asker(ctx))
        async with self._session(session_id) as (handle, session):
            call = await session.waiting_for
            if call is None:
                raise ToolError("no step of this session waits for an answer")
            answer: Allow | Deny | Later = Allow()
            if given is not None:
                asked, answer = given
                if asked != call.step:
                    raise ToolError(
                        f"this answer counts for nothing: the step that it was for, {asked}, waits no more; step "
                        f"{call.step} waits for an answer of its own, for which `answer` asks"
                    )
            elif call.asked == "approval":
                answer = await _approve(call.tool, call.arguments)
            if isinstance(answer, Later):
                return self._question(handle, call)
            return self._tool_answer(handle, await session.answer(answer))

    async def _attend(self, step: RunningStep, ctx: Context) -> ToolAnswer:
        """Pass on what the step reports, until it ends."""
        watch = asyncio.create_task(_cancel_when_gone(ctx, step))
        try:
            while True:
                step.news.clear()
                has_ended = step.task.done()  # before the look at its last reports
                if step.progress:
                    progress, step.progress = step.progress, ""
                    step.count += 1
                    await ctx.report_progress(step.count, message=progress)
                if has_ended:
                    break
                await step.news.wait()
        finally:
            watch.cancel()
        if step.task.cancelled():
            raise ToolError("the step was stopped and undone: its session was closed, or its client was gone")
        return step.task.result()

    def _tool_answer(self, handle: str, result: Result) -> ToolAnswer:
        """Return the result of a step, or the question for which it waits where its client is asked that way."""
        call = result.waiting_for
        asked = call is not None and call.asked == "approval" and _ASK.get() is _UNANSWERED
        return self._question(handle, call) if call is not None and asked else _of_step(handle, result)

    def _question(self, handle: str, call: WaitingCall) -> InputRequiredResult:
        """End the request with a question. Whenever the answer comes, the step runs again, to its end."""
        state = token_urlsafe()
        self._asked[state] = Question(handle, call.step)
        while len(self._asked) > REMEMBERED:
            del self._asked[next(iter(self._asked))]
        form = ElicitRequestFormParams(message=_question(call.tool, call.arguments), requested_schema=_NO_FIELDS)
        return InputRequiredResult(input_requests={"approval": ElicitRequest(params=form)}, request_state=state)

    async def list_variables(self, session_id: str) -> CallToolResult:
        """List the variables of a session: name, type, shape, size in bytes, the beginning of its text."""
        async with self._session(session_id) as (handle, session):
            found = await session.variables()
            variables = [_parts(variable, "name", "type", "shape", "size", "text") for variable in found]
            return _answer({"session_id": handle, "variables": variables})

    async def checkpoint(self, session_id: str, name: str) -> CallToolResult:
        """Keep the state of a session, variables and files, under a name to roll back to."""
        async with self._session(session_id) as (handle, session):
            await session.checkpoint(name)
            return _answer({"session_id": handle})

    async def rollback(self, session_id: str, name: Text = "") -> CallToolResult:
        """Take a session back to a checkpoint by its name, or without a name to before its last step."""
        async with self._session(session_id) as (handle, session):
            await session.rollback(name or None)
            return _answer({"session_id": handle})

    async def branch(self, session_id: str, n: Annotated[int, Field(ge=1, le=MAX_BRANCHES)] = 1) -> CallToolResult:
        """Make n new sessions that go on from the state of this one, to try alternatives. Gives their session_ids."""
        async with self._session(session_id) as (handle, session):
            async with self._minting:
                await self._make_room(n)
                branches = [self._mint(branch) for branch in await session.branch(n)]
            return _answer({"session_id": handle, "session_ids": branches})

    async def files(
        self,
        session_id: str,
        op: Literal["list", "read", "write"],
        path: Text = "",
        content: Text = "",
        encoding: Literal["utf-8", "base64"] = "utf-8",
    ) -> CallToolResult:
        """List, read or write files of a session's workspace. What is no text in UTF-8 is base64 (encoding)."""
        async with self._session(session_id) as (handle, session):
            if op == "list":
                return _answer({"session_id": handle, "files": await session.list_files()})
            if op == "write":
                try:
                    data = base64.b64decode(content, validate=True) if encoding == "base64" else content.encode()
                except ValueError as error:
                    raise ToolError(f"files: content is not {encoding}: {error}") from None
                await session.write_file(path, data)
                return _answer({"session_id": handle, "size": len(data)})
            self._account.begin()
            async with room():
                data = await session.read_file(path, max_bytes=MAX_FILE)
                count_untaken(COPIES * len(data))
                return await apart(len(data), _read, handle, data)

    async def close_session(self, session_id: str) -> CallToolResult:
        """End a session; a step that runs in it is stopped. Its variables and files are gone."""
        await self._end(session_id, self._find(session_id), "it was closed")
        return _answer({"session_id": session_id})

    # Resource

    def policy(self) -> str:
        """Return what code may do here: modules, builtins, files, tools, limits."""
        return self._card

    # Sessions

    @asynccontextmanager
    async def _session(self, handle: str | None) -> AsyncIterator[tuple[str, AsyncSession]]:
        """Give the session of a handle, or a new one for None, when its turn has come. Misuse is a `ToolError`."""
        fresh = handle is None
        try:
            if handle is None:
                await asyncio.shield(self.opening)
                async with self._minting:
                    await self._sandbox.open()  # anew, if it has died
                    await self._make_room(1)
                    handle = self._mint(await self._sandbox.session())
            shared = self._find(handle)
            try:
                async with shared.lock:
                    yield handle, shared.session
            except SessionClosed as error:
                await self._end(handle, shared, str(error))
                raise
            except BaseException:
                if fresh:  # nobody has heard of it
                    await self._end(handle, shared, "it was never used")
                raise
        except (SandboxError, ValueError, TypeError) as error:
            raise ToolError(printable(str(error))) from None

    def _mint(self, session: AsyncSession) -> str:
        handle = token_urlsafe(16)
        self._open[handle] = SharedSession(session, asyncio.Lock())
        return handle

    def _find(self, handle: str) -> SharedSession:
        shared = self._open.pop(handle, None)
        if shared is None:
            why = self._gone.get(handle, "this server gave out no such session_id")
            raise ToolError(
                f"no session {shorten(ascii(handle), 60)}: {why}. Without session_id, run_python starts one"
            )
        self._open[handle] = shared
        return shared

    async def _end(self, handle: str, shared: SharedSession, why: str) -> None:
        """Close a session, and stop the steps that use it or wait for it."""
        self._open.pop(handle, None)
        self._gone.setdefault(handle, why)
        while len(self._gone) > REMEMBERED:
            del self._gone[next(iter(self._gone))]
        self._asked = {state: one for state, one in self._asked.items() if one.handle != handle}
        for task in [task for task, of in self._steps.items() if of == handle and task is not asyncio.current_task()]:
            task.cancel()
        await shared.session.close()

    async def _make_room(self, wanted: int) -> None:
        """Close the sessions that were not used for longest where that is needed. Raises `SandboxBusy`."""
        over = len(self._open) + wanted - MAX_SESSIONS
        idle = [entry for entry in self._open.items() if not entry[1].lock.locked()]
        if over > len(idle):
            raise SandboxBusy(f"{len(self._open)} sessions are open and in use, {MAX_SESSIONS} at most: close some")
        for handle, shared in idle[: max(0, over)]:
            await self._end(handle, shared, f"{MAX_SESSIONS} others were used since")
