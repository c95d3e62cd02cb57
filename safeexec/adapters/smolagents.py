"""A `PythonExecutor` for smolagents, whose agent tells the model what may be imported:

with SafeExecutor("standard") as executor:
    CodeAgent(tools, model, executor=executor, additional_authorized_imports=executor.authorized_imports).run(task)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from smolagents.local_python_executor import CodeOutput, InterpreterError, PythonExecutor

from safeexec import Opaque, Policy, Sandbox, ToolError
from safeexec.adapters.signatures import hint
from safeexec.common.text import short_repr

if TYPE_CHECKING:
    from safeexec import Session

FINAL = "final_answer"


class SafeExecutor(PythonExecutor):  # type: ignore[misc]
    """Runs the code of an agent in one session. smolagents gives the tools late, so the sandbox opens at the first
    code. ``final_answer`` gives the agent its answer; what the code does after it is ignored.
    """

    def __init__(self, policy: str | Policy = "standard", *, timeout: float | None = None, **options: Any) -> None:
        self._policy = Policy.load(policy)
        self._timeout = timeout
        self._options = options
        self._tools: dict[str, Callable[..., Any]] = {}
        self._targets: dict[str, Any] = {}
        self._variables: dict[str, Any] = {}
        self._sandbox: Sandbox | None = None
        self._session: Session | None = None
        self._final: list[Any] = []
        self.state: dict[str, Any] = {"_print_outputs": ""}
        """Read by smolagents when a step failed."""

    @property
    def authorized_imports(self) -> list[str]:
        """The modules that the policy allows, for the agent's prompt."""
        return sorted(self._policy.imports)

    def send_tools(self, tools: dict[str, Any]) -> None:
        """Take the tools of the agent. Other ones than before need another sandbox: the state of the old one ends."""
        wrapped = {name: self._wrapped(name, tool) for name, tool in tools.items()}
        if self._sandbox is not None and wrapped.keys() != self._tools.keys():
            self.cleanup()
        self._tools, self._targets = wrapped, dict(tools)

    def send_variables(self, variables: dict[str, Any]) -> None:
        """Take variables for the code. What cannot cross as a value raises TypeError."""
        self._variables.update(variables)
        if self._session is not None:
            self._hand_over(self._session)

    def __call__(self, code_action: str) -> CodeOutput:
        """Run one piece of code. Raises `InterpreterError` with the observation for the model."""
        session = self._opened()
        self._final.clear()
        result = session.run(code_action, timeout=self._timeout)
        self.state["_print_outputs"] = result.stdout
        if self._final:
            return CodeOutput(output=_shown(self._final[0]), logs=result.stdout, is_final_answer=True)
        if not result.ok:
            raise InterpreterError(result.observation())
        output = result.text if isinstance(result.value, Opaque) else _shown(result.value)
        return CodeOutput(output=output, logs=result.stdout, is_final_answer=False)

    def __enter__(self) -> SafeExecutor:
        return self

    def __exit__(self, *error: object) -> None:
        self.cleanup()

    def cleanup(self) -> None:
        """End the sandbox; smolagents calls it when the agent has done."""
        sandbox, self._sandbox, self._session = self._sandbox, None, None
        if sandbox is not None:
            sandbox.close()

    def _opened(self) -> Session:
        if self._session is None:
            self._sandbox = Sandbox(self._policy, tools=self._tools, **self._options).open()
            self._session = self._sandbox.session()
            self._hand_over(self._session)
        return self._session

    def _hand_over(self, session: Session) -> None:
        for name, value in self._variables.items():
            session.set(name, value)
        self._variables.clear()

    def _wrapped(self, name: str, tool: Any) -> Callable[..., Any]:
        """Return a smolagents tool as a host function: its `forward` has the signature, its call does the checks."""
        if not callable(tool):
            raise ToolError(f"the tool {name!r} is not callable")

        signature = _declared(tool)

        def call(*args: Any, **kwargs: Any) -> Any:
            # By name: smolagents takes one dict for the arguments, and has keywords of its own.
            value = self._targets[name](**signature.bind(*args, **kwargs).arguments)
            if name == FINAL:
                self._final.append(value)
            return value

        call.__name__ = name
        call.__doc__ = getattr(tool, "description", None) or inspect.getdoc(tool)
        call.__signature__ = signature  # type: ignore[attr-defined]
        call.__annotations__ = {one.name: one.annotation for one in signature.parameters.values()}
        return call


def _declared(tool: Any) -> inspect.Signature:
    """Return the signature of a tool, with the types that it declares to the model."""
    signature = inspect.signature(getattr(tool, "forward", tool))
    inputs = getattr(tool, "inputs", {})
    declared = [one for one in signature.parameters.values() if one.name in inputs or not inputs]
    if declared and declared[0].name == "self":  # of a function decorated with @tool it is there without a use
        del declared[0]
    parameters = [one.replace(annotation=hint(inputs.get(one.name, {}))) for one in declared]
    return signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)


def _shown(value: Any) -> Any:
    """Return `value` as smolagents may print it: text instead of a number that `str` refuses."""
    try:
        str(value)
    except (ValueError, RecursionError):
        return short_repr(value)
    return value
