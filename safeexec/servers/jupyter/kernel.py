"""A Jupyter kernel on ipykernel that runs the cells of a front end as steps of a session, where ipykernel has IPython.

This process is the host: it holds the connection and the sandbox, and runs no code of a cell. A cell is stopped by the
front end's message (`interrupt_mode: message`), which cancels the step; a child that dies is a failed cell.
"""

from __future__ import annotations

import fnmatch
import platform
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, TypeVar

import msgspec
from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel
from IPython.core.inputtransformer2 import TransformerManager
from IPython.utils.tokenutil import token_at_cursor

from safeexec import SandboxError, __version__
from safeexec.servers.jupyter import introspection
from safeexec.servers.jupyter.introspection import BEHIND
from safeexec.servers.jupyter.notebook import MAGICS, Notebook, Page, QuietPage, refused, split

T = TypeVar("T")
POLL_MILLISECONDS = 50
"""How often a question to the person looks whether it was given up."""
HISTORY = 1000
"""Cells that are remembered, of this kernel's life."""
MAX_REMEMBERED = 100_000
"""Characters of a cell that is remembered: 60 of 8 MB each, which no session runs, stayed as 600 MB."""
MAX_SOURCE = 10_000
"""Characters that are asked whether they are complete, or what stands at the cursor: of more, its line is. The tokens
of one line take quadratic time at worst: these half a second.
"""
_LANGUAGE = {
    "name": "python",
    "version": platform.python_version(),
    "mimetype": "text/x-python",
    "file_extension": ".py",
    "pygments_lexer": "ipython3",
    "codemirror_mode": {"name": "ipython", "version": 3},
    "nbconvert_exporter": "python",
}


_CODE, _CURSOR = ("code", str), ("cursor_pos", Annotated[int, msgspec.Meta(ge=0)])
_CONTENTS: dict[str, list[tuple[Any, ...]]] = {
    "execute_request": [_CODE, *((name, bool, False) for name in ("silent", "store_history", "allow_stdin"))],
    "is_complete_request": [_CODE],
    "complete_request": [_CODE, _CURSOR],
    "inspect_request": [_CODE, _CURSOR],
    "history_request": [("pattern", Annotated[str, msgspec.Meta(max_length=1000)] | None, None)],
}
"""The contents of requests: names, types, and defaults of what may be left out."""
_REQUESTS = {
    kind: msgspec.defstruct("Request", [("content", msgspec.defstruct("Content", fields)), ("metadata", dict)])
    for kind, fields in _CONTENTS.items()
}


class SafeexecKernel(Page, Kernel):
    """Answers the requests of a front end, one after the other; interrupt and shutdown in a thread of their own. It is
    the page that its notebook shows on: messages about the request that runs.
    """

    implementation = "safeexec"
    implementation_version = __version__
    language_info = _LANGUAGE
    _execute_sleep = 0.0  # waits for streams of ipykernel's, which nothing is printed to
    banner = "Python in a sandbox of safeexec. %card says what may be used, %rollback undoes a cell."
    control_msg_types = Kernel.msg_types

    notebook: Notebook
    """The notebook of its cells: set before it starts."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._cells: deque[tuple[int, str]] = deque(maxlen=HISTORY)
        for handlers in (self.shell_handlers, self.control_handlers):
            for kind in Kernel.control_msg_types:
                handlers[kind] = partial(self._reply, kind, handlers.get(kind, _not_offered))

    @property
    def kernel_info(self) -> dict[str, Any]:
        return {**super().kernel_info, "supported_features": []}

    def pre_handler_hook(self) -> None:
        """Do nothing: no signal interrupts a handler, interrupts are messages."""

    post_handler_hook = pre_handler_hook

    async def _reply(self, kind: str, handler: Callable[..., Any], stream: Any, ident: Any, parent: Any) -> None:
        """Answer a request, be it by an error. ipykernel would log that and send no reply, for which its client waits
        for ever.
        """
        try:
            msgspec.convert(parent, _REQUESTS.get(kind, Any))
            await handler(stream, ident, parent)
        except Exception as error:
            wrong = {"status": "error", "ename": type(error).__name__, "evalue": f"{kind}: {error}", "traceback": []}
            reply = wrong | ({"execution_count": self.execution_count} if kind == "execute_request" else {})
            self.session.send(stream, kind.replace("_request", "_reply"), reply, parent, ident)

    async def do_execute(
        self,
        code: str,
        silent: bool,
        store_history: bool = True,
        user_expressions: dict[str, str] | None = None,
        allow_stdin: bool = False,
        *,
        cell_meta: object = None,
        cell_id: object = None,
    ) -> dict[str, Any]:
        if store_history and len(code) <= MAX_REMEMBERED and code.strip():
            self._cells.append((self.execution_count, code))
        self._allow_stdin = allow_stdin
        try:
            failure = self.notebook.run(code, QuietPage(self) if silent else self)
        except Exception as error:
            self.log.exception("a cell could not be run")
            message = f"the kernel could not run this cell: {type(error).__name__}"
            failure = refused(message, "The log of the Jupyter server has more. The variables are as they were.")
        reply = {"execution_count": self.execution_count, "payload": [], "user_expressions": {}}
        if failure is None:
            return {"status": "ok", **reply}
        content = {"ename": failure.name, "evalue": failure.message, "traceback": failure.lines}
        if not silent:
            self._publish("error", content)
        return {"status": "error", **reply, **content}

    async def do_complete(self, code: str, cursor_pos: int) -> dict[str, Any]:
        nothing: tuple[list[str], int] = ([], cursor_pos)
        matches, start = _tried(
            lambda: introspection.complete(self.notebook.session, code, cursor_pos, MAGICS), nothing
        )
        return {"status": "ok", "matches": matches, "cursor_start": start, "cursor_end": cursor_pos, "metadata": {}}

    async def do_inspect(
        self, code: str, cursor_pos: int, detail_level: int = 0, omit_sections: object = ()
    ) -> dict[str, Any]:
        if len(code) > MAX_SOURCE:
            before = introspection.line_before(code, cursor_pos)
            code = before + code[cursor_pos:][:BEHIND].partition("\n")[0]
            cursor_pos = len(before)
        text = _tried(lambda: introspection.inspect(self.notebook.session, token_at_cursor(code, cursor_pos)), None)
        data = {"text/plain": text} if text else {}
        return {"status": "ok", "found": text is not None, "data": data, "metadata": {}}

    async def do_is_complete(self, code: str) -> dict[str, Any]:
        if len(code) > MAX_SOURCE:
            return {"status": "unknown"}
        manager = TransformerManager()
        manager.token_transformers = []  # of IPython's syntax: each place in a cell takes all its tokens once more
        status, indent = manager.check_complete(split(code)[1])
        return {"status": status, "indent": " " * indent} if status == "incomplete" else {"status": status}

    async def do_history(
        self,
        hist_access_type: str,
        output: bool,
        raw: bool,
        session: int | None = None,
        start: int | None = None,
        stop: int | None = None,
        n: int | None = None,
        pattern: str | None = None,
        unique: bool = False,
    ) -> dict[str, Any]:
        cells = [*self._cells]
        if hist_access_type == "range":
            cells = [cell for cell in cells if (start or 0) <= cell[0] < (stop or sys.maxsize)]
        elif hist_access_type == "search":
            cells = [cell for cell in cells if fnmatch.fnmatchcase(cell[1], pattern or "*")]
            cells = [*{code: (count, code) for count, code in cells}.values()] if unique else cells
        if hist_access_type != "range" and n is not None:
            cells = cells[-n:] if n > 0 else []
        rows = [(0, count, (code, None) if output else code) for count, code in cells]
        return {"status": "ok", "history": rows}

    async def interrupt_request(self, stream: Any, ident: Any, parent: Any) -> None:
        self.notebook.cancel()
        self.session.send(stream, "interrupt_reply", {"status": "ok"}, parent, ident=ident)

    async def do_shutdown(self, restart: bool) -> dict[str, Any]:
        self.notebook.close()
        return {"status": "ok", "restart": restart}

    # As a page

    def _publish(self, kind: str, content: dict[str, Any]) -> None:
        self.send_response(self.iopub_socket, kind, content)

    def stream(self, name: str, text: str) -> None:
        self._publish("stream", {"name": name, "text": text})

    def show(self, data: Mapping[str, str | bytes], display_id: str | None = None, update: bool = False) -> None:
        transient = {"display_id": display_id} if display_id else {}
        kind = "update_display_data" if update else "display_data"
        self._publish(kind, {"data": data, "metadata": {}, "transient": transient})

    def value(self, data: Mapping[str, str | bytes]) -> None:
        count = self.execution_count
        self._publish("execute_result", {"data": data, "metadata": {}, "execution_count": count})

    def clear(self, wait: bool) -> None:
        self._publish("clear_output", {"wait": wait})

    def ask(self, prompt: str, given_up: Callable[[], bool]) -> str:
        """Ask the person as `Kernel.raw_input` does, which waits for the answer, or a signal, and nothing else."""
        if not self._allow_stdin:
            return super().ask(prompt, given_up)
        ident, parent = self._get_shell_context_var(self._shell_parent_ident), self.get_parent("shell")
        while self.stdin_socket.poll(0):
            self.stdin_socket.recv_multipart()  # an answer to a question that was given up
        content = {"prompt": prompt, "password": False}
        self.session.send(self.stdin_socket, "input_request", content, parent, ident=ident)
        while not given_up():
            if self.stdin_socket.poll(POLL_MILLISECONDS):
                with suppress(ValueError):  # of somebody who has not our key
                    _, reply = self.session.recv(self.stdin_socket)
                    return str(reply["content"]["value"])
        raise EOFError("the question was given up")


class SafeexecKernelApp(IPKernelApp):
    """ipykernel's application with our kernel: it imports nothing beside the notebook; what it prints is its log."""

    def init_path(self) -> None:
        """Leave the notebook's directory out of the path."""


async def _not_offered(*_: object) -> None:
    raise NotImplementedError("this kernel does not offer it")


def _tried(look: Callable[[], T], otherwise: T) -> T:
    """Return what `look` finds; `otherwise` where the session cannot be asked, or the code is none."""
    try:
        return look()
    except (SandboxError, SyntaxError):
        return otherwise
