"""One step in the session's namespace: compile, run, and tell what came of it."""

from __future__ import annotations

import atexit
import linecache
import sys
import warnings
from collections.abc import Callable, Coroutine, Mapping
from types import CodeType, CoroutineType, ModuleType
from typing import TYPE_CHECKING, Any

from safeexec.common.identity import args_of, chained, class_name, entries_of
from safeexec.common.own import contextlib, gc, os, resource
from safeexec.common.text import short_repr
from safeexec.engine import advice
from safeexec.engine.child.process.on_import import after_import
from safeexec.engine.child.repeat.code import CO_COROUTINE
from safeexec.engine.child.repeat.repeatable import Repeatable, external_events, warm_up
from safeexec.engine.child.step.changes import after_step, before_step, variables
from safeexec.engine.child.step.program import (
    CompiledStep,
    Diagnostic,
    Language,
    Rejection,
    Review,
    compile_program,
    without_fence,
    without_magics,
)
from safeexec.engine.child.step.progress import ProgressBars
from safeexec.engine.child.step.standard_input import NO_ARGUMENTS, GuestInput
from safeexec.engine.child.step.violations import explain, is_out_of_memory
from safeexec.engine.policy.names import GUARD_NAMES, GUARD_SET, KNOWN_BUILTINS
from safeexec.protocol import messages as m
from safeexec.protocol.plan import OUTPUT_CEILING
from safeexec.protocol.values import encode

if TYPE_CHECKING:
    from safeexec.engine.child.process.threads import Threads
    from safeexec.engine.child.step.displays import Displays
    from safeexec.engine.child.step.output import Streams
    from safeexec.protocol.plan import LimitsPlan

ARRAY_BYTES = 128 << 10
"""The most bytes of the arrays and frames in a step's value: as plain data they cost the host 2 us per element."""
WARM_UP = "x = x + 1"
"""The source of a warm-up, until there has been a step."""
WARM_UP_CHARACTERS = 4000
"""A longer source is not compiled for a warm-up."""
TEXT_CHARACTERS = 20_000
"""The most characters of the repr of a value; of a longer one the beginning and the end are kept."""
SHOWN_DIGITS = 20_000
"""The most digits of a number that is a step's value: 5 ms. `str` of guest code stops at 4300 digits."""
KEPT_SOURCE_BYTES = 4 << 20
"""Sources of past steps that are kept for tracebacks."""


_lines = linecache.cache
"""As it is before the first step: what `traceback` of the program reads."""
_FROM_PYTHON = frozenset(("__warningregistry__", "__annotations__", "__conditional_annotations__"))
"""Names that Python itself puts into a namespace."""


class Guest:
    """The guest's side of a session: its namespace and the means to run a step in it."""

    def __init__(
        self,
        language: Language,
        limits: LimitsPlan,
        streams: Streams,
        displays: Displays,
        tools: Mapping[str, Callable[..., Any]],
    ) -> None:
        self.language = language
        self.limits = limits
        self.streams = streams
        self.displays = displays
        self.progress = ProgressBars(lambda description, done, total: None)
        self.loop = StepLoop()
        self.threads: Threads | None = None
        self.sources: dict[str, str] = {}
        self.lost: set[str] = set()
        """Names that a restore took away; a NameError about one of them says so."""
        self.tells_frames = False
        """Whether an error of the step that runs tells the variables of the functions that were running."""
        self.pending = b""
        """The value that was announced and waits for `Deliver`."""
        self.exit_functions = False
        """Whether the step that runs has registered functions with atexit."""
        self._last_source = WARM_UP
        self._source_bytes = 0
        # dataclasses, enum, typing and pickle look a class up through sys.modules[cls.__module__].
        self.module = ModuleType("__main__")
        self.namespace: dict[str, Any] = self.module.__dict__
        sys.modules["__main__"] = self.module
        language.install(self.namespace)
        language.remember = self.remember
        language.builtins.setdefault("display", displays.display)
        if language.plan.has_sql:
            language.builtins.setdefault("sql", self.sql)
        if "print" in language.builtins:
            language.builtins["print"] = streams.print
        sys.argv = list(NO_ARGUMENTS)
        restricted = language.plan.mode == "restricted"
        refused = {"input"} | ({"open"} - language.plan.builtins) if restricted else set()
        self.input = GuestInput(language.builtins, refused)
        if language.plan.mode == "python":
            streams.watch_descriptors()
            self._watch_exit_functions()
        for name, tool in tools.items():
            if name not in GUARD_NAMES:  # a builtin, which `del` brings back; none of Python's own is replaced
                (self.namespace if name in KNOWN_BUILTINS else language.builtins)[name] = tool
        language.watch_builtins()
        self.hidden = frozenset(self.namespace) | GUARD_NAMES
        """Names that the guest does not bind: the module's own, what the sandbox put there, and those of guards."""
        self.repeatable = Repeatable(self.namespace, self.language.builtins, tools)
        language.builtins[GUARD_SET] = self.repeatable.report_set
        self.judges = True
        """Whether it matters if a step can be repeated."""

    def step(self, request: m.Execute) -> m.StepDone:
        """Run one step. Whatever the guest raises is reported, never raised."""
        source = request.source.decode("utf-8", "surrogatepass")
        filename = f"<step {request.step}>"
        self.tells_frames = request.frames
        self.streams.begin()
        collecting = gc.isenabled()
        # Parsing allocates thousands of short-lived nodes; a collection in the middle finds nothing and costs 10 %.
        gc.disable()
        try:
            review = self.repeatable.inspect if self.judges else None
            source, compiled = self._compiled(source, filename, request.stdin, review)
        except BaseException as error:
            done = self.refused(error, filename, source)
            return self.repeatable.refused(done) if self.judges else done
        finally:
            if collecting:
                gc.enable()
        self.remember(filename, source)
        self._last_source = source
        done = self._run(compiled.body, compiled.tail)
        if self.judges:
            self.repeatable.conclude(done, self.streams.printed)
        return done

    def _compiled(
        self, source: str, filename: str, stdin: bool, review: Review | None = None
    ) -> tuple[str, CompiledStep]:
        """Return the program in what was sent, and its code. Raises what compiling raises."""
        language = self.language
        judge = language.judge_with_input() if stdin else language.judge
        try:
            return source, compile_program(source, filename, language.flags, judge, review)
        except SyntaxError:
            plain = without_magics(without_fence(source))
            if plain == source:
                raise
        return plain, compile_program(plain, filename, language.flags, judge, review)

    def _watch_exit_functions(self) -> None:
        """Note which step registers a function with atexit. A session has no end at which it could run: its process
        waits for the next step, and is killed. So the step is to tell.
        """
        register = atexit.register

        def register_and_tell(function: Any, /, *args: Any, **kwargs: Any) -> Any:
            self.exit_functions = self.exit_functions or sys._getframe(1).f_globals is self.namespace
            return register(function, *args, **kwargs)

        register_and_tell.__name__ = register_and_tell.__qualname__ = "register"
        atexit.register = register_and_tell

    def check(self, request: m.Compile) -> m.StepDone:
        """Compile a source and throw the code away."""
        source = request.source.decode("utf-8", "surrogatepass")
        try:
            self._compiled(source, "<check>", request.stdin)
        except BaseException as error:
            return self.refused(error, "<check>", source)
        return m.StepDone("ok")

    def _run(self, body: CodeType | None, tail: CodeType | None) -> m.StepDone:
        namespace = self.namespace
        before = before_step(namespace, body, tail)
        value: Any = None
        try:
            try:
                if body is not None and body.co_flags & CO_COROUTINE:
                    self.loop.run(eval(body, namespace))
                elif body is not None and (tail is None or not tail.co_flags & CO_COROUTINE):
                    exec(body, namespace)
                elif body is not None:  # its tasks are to be made on the loop that the tail awaits them on
                    self.loop.run(_on_the_loop(body, namespace))
                if tail is not None:
                    value = eval(tail, namespace)
                    if tail.co_flags & CO_COROUTINE:
                        value = self.loop.run(value)
                    if value is not None:
                        self.language.builtins["_"] = value  # as Python's own prompt does
            finally:
                if self.input.stream is not None:
                    self.input.wait_for_threads()
                if external_events:
                    self.repeatable.deterministic = False
            done = self._done(value)
        except SystemExit as error:
            done = self._exited(error)
        except BaseException as error:
            done = self.failed(error)
        done.changes = after_step(namespace, before)
        return done

    def _done(self, value: Any) -> m.StepDone:
        if value is None:
            done = m.StepDone("ok", displays=self.displays.collect(None) if self.displays.in_use else [])
        else:
            text = shown(value, self.sources)
            displays = self.displays.collect(value, text)
            limits = self.limits
            encoded = encode(
                value,
                max_bytes=limits.value_bytes,
                max_depth=limits.value_depth,
                arrays=True,
                array_bytes=ARRAY_BYTES,
                text=text,
            )
            cut = len(text) > TEXT_CHARACTERS
            if cut:
                text = text[: TEXT_CHARACTERS // 2] + " … " + text[-TEXT_CHARACTERS // 2 :]
            done = m.StepDone(
                "ok", text=text.encode("utf-8", "surrogatepass"), displays=displays, truncated=encoded.truncated or cut
            )
            done.value, done.pending = self.hold(encoded.data)
            if type(value) is CoroutineType:
                done.notes = [f"nobody has awaited the value, a coroutine: write `await {value.__name__}(…)`"]
        self.streams.end()
        return done

    def _exited(self, error: SystemExit) -> m.StepDone:
        """Return the answer of a program that has ended itself: `ok` with status 0, any other is its error."""
        code = _EXIT_CODE(error)
        status = exit_status(code)
        if status == 0:
            done = self._done(None)
        else:
            if not issubclass(type(code), int):  # as CPython does: on standard error; its `__str__` is the guest's
                with contextlib.suppress(BaseException):
                    print(code, file=sys.stderr)
            done = self.failed(error)
        done.exit_status = status
        return done

    def query(self, request: m.Query) -> m.StepDone:
        """Run one SQL query over the session's frames and files; bound to `request.name` if there is one."""
        from safeexec.engine.child.step.sql import SqlError  # for programs that use SQL

        self.streams.begin()
        before = before_step(self.namespace, None, None)
        try:
            if request.name in self.hidden:
                raise NameError(f"{request.name!r} belongs to the sandbox")
            if not self.language.plan.has_sql:
                raise SqlError("there are no tables under this policy", hint="data-analysis, for one, has them.")
            frame = self.sql(request.query.decode("utf-8", "surrogatepass"))
            if frame is not None:
                self.language.builtins["_"] = frame
            if frame is not None and request.name is not None:
                self.namespace[request.name] = frame
            done = self._done(frame)
        except BaseException as error:
            done = self.failed(error)
            if type(error) is SqlError and done.error is not None:
                done.error.line, done.error.column = error.line, error.column
        done.changes = after_step(self.namespace, before)
        return done

    def sql(self, query: str, /, **tables: Any) -> Any:
        """Run a query of `sql` on DataFrames and CSV files, by their names, and on `tables`; return a DataFrame.

        A query without a result prints what it did.
        """
        from safeexec.engine.child.step.sql import sql  # as above

        if type(query) is not str:
            raise TypeError(f"sql() takes a query as str, not {type(query).__name__}")
        frame, said = sql(
            query,
            self.namespace,
            "." if self.language.plan.workspace != "none" else None,
            given=tables,
            reserved=self.hidden,
            memory_bytes=self.limits.memory_bytes - (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10),
        )
        if said:
            self.streams.print(said)
        return frame

    def hold(self, payload: bytes) -> tuple[bytes, int]:
        """Return `payload` as it goes into an answer: itself, or, when it is large, its size, and `Deliver` fetches it
        through a memfd (1 MB: 0.3 ms instead of 1.5 through a socket).
        """
        if len(payload) <= m.INLINE_BYTES:
            return payload, 0
        self.pending = payload
        return b"", len(payload)

    def names(self) -> list[str]:
        """Return the names that the guest bound, in order, without those that no text can show."""
        hidden = self.hidden | _FROM_PYTHON
        return [name for name in self.namespace if type(name) is str and name not in hidden and name.isprintable()]

    def variables(self) -> list[m.VariableData]:
        namespace = self.namespace
        return variables({name: namespace[name] for name in self.names()})

    def warm_up(self, steps: Callable[[], object]) -> None:
        """Call `steps`: steps that run in there leave no trace. They have a namespace of their own."""
        kept = self.namespace, self.sources, self._source_bytes, self._last_source
        self.namespace, self.sources = {"x": 0, "__builtins__": {}}, {}
        try:
            steps()
        finally:
            self.namespace, self.sources, self._source_bytes, self._last_source = kept
            _lines.pop("<step 0>", None)

    def touch(self) -> None:
        """Look at the real namespace and compile the last source again, as the next step will; keep nothing of it."""
        if self.judges:
            warm_up()
        source = self._last_source if len(self._last_source) <= WARM_UP_CHARACTERS else WARM_UP
        try:
            _, compiled = self._compiled(source, "<warm-up>", stdin=False)
        except BaseException:
            return
        before = before_step(self.namespace, compiled.body, compiled.tail)
        after_step(self.namespace, before)

    def failed(self, error: BaseException) -> m.StepDone:
        """Return the answer of a step that raised."""
        displays, frames = self.displays.collect(None), []
        try:
            from safeexec.engine.child.step import errors  # the zygote imports them late

            report = errors.report(
                error,
                sources=self.sources,
                namespace=self.namespace,
                plan=self.language.plan,
                lost_names=self.lost,
                workspace_files=_workspace_files if self.language.plan.workspace != "none" else None,
                shadowed=self.language.shadowed,
            )
            self.streams.end()
            if self.tells_frames:  # what a `__repr__` prints by now is not the step's
                frames = errors.running_functions(error, self.sources)
        except BaseException:
            # The step has left no descriptor to read `errors` with, or code of the guest's raised in what is reported.
            report = _brief_report(error)
            self.streams.end()
        finally:
            _release_frames(error)
        # Its message is output too, and Python would have printed it.
        printed = sum(len(part) for part in args_of(error) if type(part) in (str, bytes))
        outcome: Any = "output" if printed > OUTPUT_CEILING * self.limits.output_bytes else outcome_of(error)
        return m.StepDone(outcome, error=report, displays=displays, frames=frames)

    def refused(self, error: BaseException, filename: str, source: str) -> m.StepDone:
        """Return the answer of a step that did not compile: a refusal, a syntax error, or a limit of the parser."""
        if isinstance(error, Rejection):
            self.streams.end()
            return m.StepDone("rejected", error=rejection_report(error, self._hint))
        self.remember(filename, source)
        return self.failed(error)

    def _hint(self, kind: str, name: str) -> str | None:
        """Return what to do instead of something that the policy refuses."""
        shadowed = self.language.shadowed(name) if kind == "module" else None
        return shadowed or advice.refusal_hint(kind, name, self.language.plan)

    def remember(self, filename: str, source: str) -> None:
        """Keep a source for tracebacks."""
        self._source_bytes -= len(self.sources.pop(filename, ""))
        self.sources[filename] = source
        self._source_bytes += len(source)
        while self._source_bytes > KEPT_SOURCE_BYTES and len(self.sources) > 1:
            oldest = next(iter(self.sources))
            self._source_bytes -= len(self.sources.pop(oldest))
            _lines.pop(oldest, None)
        _lines[filename] = (len(source), None, source.splitlines(True), filename)


class StepLoop:
    """The event loop of a session's steps, made when a first one awaits at its top level, as cells of a notebook do.

    It stands still between steps: a task that is not done goes on with the next step that awaits, and a queue or a lock
    can be used in several. At rest it has neither a descriptor nor a thread, which no copy of the process could have
    for itself.
    """

    def __init__(self) -> None:
        self._loop: Any = None

    def prepare(self) -> None:
        """Be the loop on which tasks are made where none runs, as in a notebook; once asyncio is there."""
        after_import("asyncio", self._adopt)

    def _adopt(self) -> None:
        import asyncio

        self._loop = self._make()
        self._loop._close_self_pipe()
        asyncio.set_event_loop(self._loop)

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a step's coroutine to its end; it raises what that raises, and RuntimeError where a loop runs."""
        loop = self._loop
        if loop is None or loop.is_closed():
            loop = self._loop = self._make()
        else:
            loop._make_self_pipe()
        try:
            return loop.run_until_complete(coroutine)
        finally:
            if not loop.is_closed():
                if (executor := loop._default_executor) is not None:
                    loop._default_executor = None
                    executor.shutdown()
                loop._close_self_pipe()

    @staticmethod
    def _make() -> Any:
        import asyncio  # for steps that await, as below
        import selectors

        # No epoll: its descriptor would be one object for all copies of the process.
        return asyncio.SelectorEventLoop(selectors.PollSelector())


async def _on_the_loop(code: CodeType, namespace: dict[str, Any]) -> None:
    exec(code, namespace)


_EXIT_CODE: Callable[[SystemExit], Any] = SystemExit.__dict__["code"].__get__
"""A subclass of the guest's may have an attribute `code` of its own."""
_LONG = range(-(1 << 63), 1 << 63)


def exit_status(code: object) -> int:
    """Return the exit status that CPython on Linux makes of a SystemExit's code: 0 to 255.

    None is 0, a whole number its last eight bits (255 for one that no C long holds), anything else a message and 1.
    """
    if code is None:
        return 0
    if not issubclass(type(code), int):
        return 1
    number = int.__index__(code)  # type: ignore[arg-type]  # `isinstance` would ask its `__class__`
    return number & 0xFF if number in _LONG else 255


def _brief_report(error: BaseException) -> m.ErrorReport:
    """Return type, message and line, without the modules that tell the rest. Runs no code of the exception's own."""
    words = " ".join(part for part in args_of(error) if type(part) is str)
    if type(error) is OSError:
        with contextlib.suppress(BaseException):  # what it was made with may be the guest's
            words = str(error)
    lines = (one.tb_lineno for one in entries_of(error) if one.tb_frame.f_code.co_filename.startswith("<step "))
    message = words.encode("utf-8", "surrogatepass")[:TEXT_CHARACTERS]
    return m.ErrorReport(type=class_name(type(error)), message=message, line=next(lines, None))


def _release_frames(error: BaseException) -> None:
    """Drop the local variables that the frames of an exception, and of what it is chained to, hold: who keeps the
    exception, be it a frame of its own, keeps no more than that.

    Generators and coroutines are left alone: one that caught the exception may still be waiting to go on. Warnings
    are off meanwhile: the coroutines that die here unawaited would be reported with a line of this file.
    """
    # The program may have taken the module from `sys.modules`, or have replaced what is in it.
    with contextlib.suppress(Exception), warnings.catch_warnings(module=warnings):
        warnings.simplefilter("ignore")
        for one in chained(error, 1000):
            for entry in entries_of(one):
                if not entry.tb_frame.f_code.co_flags & _GENERATOR_FLAGS:
                    with contextlib.suppress(RuntimeError):  # still running: ours
                        entry.tb_frame.clear()


_GENERATOR_FLAGS = 0x20 | 0x80 | 0x200
"""`inspect.CO_GENERATOR`, `CO_COROUTINE` and `CO_ASYNC_GENERATOR`."""


def _workspace_files() -> list[str]:
    try:
        return sorted(os.listdir("."))[:1000]
    except OSError:
        return []


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


_SLICED = (str, bytes, list, tuple)


def _ends_of(value: Any, kind: type) -> str:
    """Return as much of a long value's repr as is kept: half at each end (1 MB of bytes: 0.1 ms instead of 3)."""
    half = TEXT_CHARACTERS // 2 + 1
    count = half if kind is str or kind is bytes else half // 3 + 2  # an item and what parts it from the next: three
    return repr(value[:count])[:half] + " … " + repr(value[-count:])[-half:]


def outcome_of(error: BaseException) -> Any:
    """Return the outcome word for an exception that the guest did not catch."""
    if is_out_of_memory(error):
        return "memory"
    # Any type: a library may say it in its own words, "can't start new thread" or "failed to map segment".
    return "violation" if explain(error) is not None else "error"


def rejection_report(rejection: Rejection, hint_of: Callable[[str, str], str | None]) -> m.ErrorReport:
    """Return all diagnostics of a rejection as one report, the first one first. `hint_of`: kind and name to hint."""

    def report(d: Diagnostic) -> dict[str, Any]:
        hint = hint_of(d.kind, d.name)
        return {
            "type": "PolicyViolation",
            "message": d.message.encode("utf-8", "surrogatepass"),
            "line": d.line,
            "column": d.column,
            "end_line": d.end_line,
            "end_column": d.end_column,
            "source_line": d.caret.partition("\n")[0].encode("utf-8", "surrogatepass"),
            "traceback": d.caret.encode("utf-8", "surrogatepass"),
            "rule": d.rule,
            "hint": None if hint is None else hint.encode("utf-8", "surrogatepass"),
        }

    diagnostics = rejection.diagnostics[: m.FEW]
    return m.ErrorReport(**report(diagnostics[0]), diagnostics=[m.Refusal(**report(d)) for d in diagnostics])
