"""A `CodeInterpreter` for dspy (`dspy.RLM`, `dspy.Flex`, `dspy.ProgramOfThought`), whose modules make one for each run:

dspy.RLM("context, question -> answer", interpreter_factory=partial(SafeInterpreter, "data-analysis"))
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dspy.primitives.code_interpreter import CodeExecutionError, CodeInterpreterError, FinalOutput

from safeexec import Sandbox, StepFailed
from safeexec.adapters.sessions import hand_over

if TYPE_CHECKING:
    from safeexec import Policy, Result, Session

SUBMIT = "SUBMIT"
_NEEDS_ANOTHER = "the interpreter is shut down; its state is gone, so make another one"


class SafeInterpreter:
    """Runs the code of a dspy module in one session. dspy names tools and outputs late, so the sandbox opens at the
    first code. ``SUBMIT`` gives the module its answer; what the code does after it is ignored.
    """

    def __init__(
        self,
        policy: str | Policy = "standard",
        *,
        tools: dict[str, Callable[..., Any]] | None = None,
        output_fields: list[dict[str, Any]] | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> None:
        """`timeout`: seconds of one execution, the policy's where none is given. `options` are those of `Sandbox`."""
        self.tools = dict(tools or {})
        self.output_fields = output_fields
        self._policy = policy
        self._timeout = timeout
        self._options = options
        self._sandbox: Sandbox | None = None
        self._session: Session | None = None
        self._offered: frozenset[str] = frozenset()
        self._submitted: list[Any] = []
        self._ended = False

    def start(self) -> None:
        """Open the sandbox with the tools as they are now. Raises `CodeInterpreterError` after `shutdown`."""
        if self._ended:
            raise CodeInterpreterError(_NEEDS_ANOTHER)
        if self._session is None:
            if private := [name for name in self.tools if name.startswith("_")]:
                # Those of dspy's stand-in for itself, which patches `sys.modules`: after this error dspy goes on
                # without.
                raise CodeExecutionError(f"guest code cannot have tools of such names: {', '.join(private)}")
            self._offered = frozenset(self.tools)
            tools = {name: self._forwarding(name) for name in self._offered}
            self._sandbox = Sandbox(self._policy, tools={**tools, SUBMIT: self._submit()}, **self._options).open()
            self._session = self._sandbox.session()

    def execute(self, code: str, variables: dict[str, Any] | None = None) -> Any:
        """Run one piece of code: what it submitted as `FinalOutput`, else what it printed and the value of its last
        expression, or None. Raises SyntaxError, and `CodeExecutionError` with the observation for the model.
        """
        self.start()
        assert self._session is not None
        if missing := self.tools.keys() - self._offered:
            raise CodeInterpreterError(f"tools that came after the first code: {', '.join(sorted(missing))}")
        for name, value in (variables or {}).items():
            try:
                hand_over(self._session, name, value)
            except (TypeError, StepFailed) as error:
                raise CodeInterpreterError(f"the variable {name!r} cannot be handed over: {error}") from None
        self._submitted.clear()
        result = self._session.run(code, timeout=self._timeout)
        if self._submitted:
            return FinalOutput(self._submitted[0])
        if not result.ok:
            raise _problem(result)
        return result.stdout + (result.text if result.value is not None else "") or None

    def __enter__(self) -> SafeInterpreter:
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()

    def shutdown(self) -> None:
        """End the sandbox. Harmless when it has ended."""
        self._ended = True
        sandbox, self._sandbox, self._session = self._sandbox, None, None
        if sandbox is not None:
            sandbox.close()

    def _forwarding(self, name: str) -> Callable[..., Any]:
        """Return the tool that has this name when it is called: dspy replaces them between runs."""
        tool = self.tools[name]

        def call(*args: Any, **kwargs: Any) -> Any:
            return self.tools[name](*args, **kwargs)

        call.__name__, call.__doc__ = name, inspect.getdoc(tool)
        call.__signature__ = inspect.signature(tool)  # type: ignore[attr-defined]
        return call

    def _submit(self) -> Callable[..., Any]:
        """Return ``SUBMIT`` with the names of the outputs, so that the model hears of a wrong call. Without names
        (ProgramOfThought) it takes one value, which dspy writes as JSON: what JSON has no form for is its text.
        """
        fields = [field["name"] for field in self.output_fields or ()]

        def submit(*args: Any, **kwargs: Any) -> None:
            given = signature.bind(*args, **kwargs).arguments
            self._submitted.append(given if fields else json.loads(json.dumps(given["output"], default=str)))

        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        signature = inspect.Signature([inspect.Parameter(name, kind) for name in fields or ["output"]])
        submit.__name__, submit.__doc__ = SUBMIT, "Give the final output. What follows is ignored."
        submit.__signature__ = signature  # type: ignore[attr-defined]
        return submit


def _problem(result: Result) -> Exception:
    error = result.error
    if error is not None and error.type in ("SyntaxError", "IndentationError", "TabError"):
        return SyntaxError(result.observation())
    problem: Exception = CodeExecutionError(result.observation())
    return problem
