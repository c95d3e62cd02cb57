"""One step in the session's namespace: compile, run, and report what came of it."""

from __future__ import annotations

import atexit
import linecache
import sys
from collections.abc import Callable, Mapping
from itertools import islice
from types import CodeType, CoroutineType, ModuleType
from typing import TYPE_CHECKING, Any

from safeexec.common.identity import args_of
from safeexec.common.own import contextlib, gc, os, resource
from safeexec.engine import advice
from safeexec.engine.child.repeat.code import CO_COROUTINE
from safeexec.engine.child.repeat.repeatable import Repeatable, external_events, warm_up_looks
from safeexec.engine.child.step.changes import after_step, before_step, variables
from safeexec.engine.child.step.failures import (
    EXIT_CODE,
    brief_report,
    exit_status,
    outcome_of,
    rejection_report,
    release_frames,
)
from safeexec.engine.child.step.fences import without_fence, without_magics
from safeexec.engine.child.step.loop import StepLoop, on_the_loop
from safeexec.engine.child.step.program import (
    CompiledStep,
    Language,
    Rejection,
    Review,
    as_it_is,
    compile_program,
)
from safeexec.engine.child.step.progress import ProgressBars
from safeexec.engine.child.step.standard_input import NO_ARGUMENTS, GuestInput
from safeexec.engine.child.step.value_text import TEXT_CHARACTERS, shown
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
KEPT_SOURCE_CHARACTERS = 4 << 20
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
        """True if an error of the step that runs holds the variables of the functions that were running."""
        self.pending = b""
        """The value that was announced and waits for `Deliver`."""
        self.exit_functions: list[tuple[Callable[..., object], tuple[Any, ...], dict[str, Any]]] = []
        """Functions that the step that runs has registered with atexit, and their arguments."""
        self._last_source = WARM_UP
        self._source_characters = 0
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
            # One with the name of a builtin goes into the namespace: `del` uncovers Python's own there.
            if name not in GUARD_NAMES:
                (self.namespace if name in KNOWN_BUILTINS else language.builtins)[name] = tool
        language.watch_builtins()
        self.hidden = frozenset(self.namespace) | GUARD_NAMES
        """Names that the guest does not bind: the module's own, what the sandbox put there, and those of guards."""
        self.repeatable = Repeatable(self.namespace, self.language.builtins, tools)
        language.builtins[GUARD_SET] = self.repeatable.report_set
        self.looks_for_repeats = True
        """True if an answer says whether its step can be repeated, by a look at its code and at what it left."""

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
            review: Review = self.repeatable.inspect if self.looks_for_repeats else as_it_is
            source, compiled = self._compiled(source, filename, request.stdin, review)
        except BaseException as error:
            done = self.refused(error, filename, source)
            return self.repeatable.refused(done) if self.looks_for_repeats else done
        finally:
            if collecting:
                gc.enable()
        self.remember(filename, source)
        self._last_source = source
        done = self._run(compiled.body, compiled.tail)
        if self.looks_for_repeats:
            self.repeatable.conclude(done, self.streams.printed)
        return done

    def _compiled(self, source: str, filename: str, stdin: bool, review: Review = as_it_is) -> tuple[str, CompiledStep]:
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
        """Note what a step registers with atexit. A session has no end at which it could run: its process waits for the
        next step, and is killed. A step with a standard input is a program, and runs it at its end; another one
        reports.
        """
        to_register, to_unregister = atexit.register, atexit.unregister

        def register(function: Any, /, *args: Any, **kwargs: Any) -> Any:
            if sys._getframe(1).f_globals is self.namespace:
                self.exit_functions.append((function, args, kwargs))
            return to_register(function, *args, **kwargs)

        def unregister(function: Any, /) -> None:
            self.exit_functions = [one for one in self.exit_functions if one[0] != function]
            to_unregister(function)

        register.__qualname__, unregister.__qualname__ = "register", "unregister"  # as errors name them
        atexit.register, atexit.unregister = register, unregister

    def _end_program(self) -> None:
        """Do what Python does at the end of a program: wait for its threads, call what it registered with atexit."""
        self.input.wait_for_threads()
        while self.exit_functions:
            function, args, kwargs = self.exit_functions.pop()
            try:
                function(*args, **kwargs)
            except BaseException:
                sys.excepthook(*sys.exc_info())  # it says so on standard error, and the others run

    def check(self, request: m.Compile) -> m.StepDone:
        """Compile a source and throw the code away."""
        source = request.source.decode("utf-8", "surrogatepass")
        try:
            self._compiled(source, "<check>", request.stdin)
        except BaseException as error:
            return self.refused(error, "<check>", source)
        return m.StepDone("ok")

    def _run(self, body: CodeType | None, tail: CodeType | None) -> m.StepDone:
        """Run a step's statements (`body`), and its last expression (`tail`), whose value is the step's. Code that
        awaits at its top level runs on the session's loop: also a body that does not, if its tail does.
        """
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
                    self.loop.run(on_the_loop(body, namespace))
                if tail is not None:
                    value = eval(tail, namespace)
                    if tail.co_flags & CO_COROUTINE:
                        value = self.loop.run(value)
                    if value is not None:
                        self.language.builtins["_"] = value  # as Python's own prompt does
            finally:
                if self.input.stream is not None:
                    self._end_program()
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
        code = EXIT_CODE(error)
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

    def without_trace(self, steps: Callable[[], object]) -> None:
        """Call `steps`, which runs steps on a namespace that is thrown away then, as are their sources."""
        kept = self.namespace, self.sources, self._source_characters, self._last_source
        self.namespace, self.sources = {"x": 0, "__builtins__": {}}, {}
        try:
            steps()
        finally:
            self.namespace, self.sources, self._source_characters, self._last_source = kept
            _lines.pop("<step 0>", None)

    def warm_up(self) -> None:
        """Look at the real namespace and compile the last source again, as the next step will; keep nothing of it."""
        if self.looks_for_repeats:
            warm_up_looks()
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
            report = brief_report(error)
            self.streams.end()
        finally:
            release_frames(error)
        # Its message is output too, and Python would have printed it.
        printed = sum(len(part) for part in args_of(error) if type(part) in (str, bytes))
        outcome: m.StepOutcome = "output" if printed > OUTPUT_CEILING * self.limits.output_bytes else outcome_of(error)
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
        self._source_characters -= len(self.sources.pop(filename, ""))
        self.sources[filename] = source
        self._source_characters += len(source)
        while self._source_characters > KEPT_SOURCE_CHARACTERS and len(self.sources) > 1:
            oldest = next(iter(self.sources))
            self._source_characters -= len(self.sources.pop(oldest))
            _lines.pop(oldest, None)
        _lines[filename] = (len(source), None, source.splitlines(True), filename)


def _workspace_files() -> list[str]:
    """Return the files and folders of the workspace, of its first 100 folders; what cannot be read is left out."""
    tops = islice(os.walk("."), 100)
    return sorted(os.path.join(top, name)[2:] for top, folders, files in tops for name in (*folders, *files))[:1000]
