"""An environment for recursive language models (`rlms`), whose model reads a long context from Python:

rlm = RLM(backend="openai", backend_kwargs={...}, persistent=True)
with SafeEnv("standard") as environment:
    environment.attach(rlm)
    rlm.completion(document)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rlm.core.comms_utils import LMRequest, send_lm_request, send_lm_request_batched
from rlm.core.types import REPLResult
from rlm.environments.base_env import NonIsolatedEnv, extract_tool_value, validate_custom_tools

from safeexec import Sandbox
from safeexec.adapters.sessions import hand_over
from safeexec.common.text import short_repr

if TYPE_CHECKING:
    from rlm import RLM
    from rlm.core.types import RLMChatCompletion

    from safeexec import Policy, Result

_ANSWER = 1 << 20
"""Characters of an answer that is no text."""
_NO_MODEL = "Error: no language model is attached"


class SafeEnv(NonIsolatedEnv):  # type: ignore[misc]
    """Runs the code of a recursive language model in one session. Calls of a model leave it as host tools; the context
    and the histories are variables of the session.
    """

    def __init__(
        self,
        policy: str | Policy = "standard",
        *,
        timeout: float | None = None,
        custom_tools: dict[str, Any] | None = None,
        depth: int = 1,
        **options: Any,
    ) -> None:
        """`timeout`: seconds of one block, the policy's where none is given; calls of a model count. `options` are
        those of `Sandbox`. Raises ValueError for a tool with a name of the environment's own.
        """
        super().__init__(persistent=True, depth=depth)
        validate_custom_tools(custom_tools)
        self.custom_tools = dict(custom_tools or {})
        self._policy = policy
        self._timeout = timeout
        self._options = options
        self._address: tuple[str, int] | None = None
        self._calls: list[RLMChatCompletion] = []
        self._contexts = self._histories = 0
        self.setup()

    def setup(self) -> None:
        """Open the sandbox, with the model's functions and the tools as host tools."""
        values = {name: extract_tool_value(entry) for name, entry in self.custom_tools.items()}
        functions: dict[str, Callable[..., Any]] = {name: value for name, value in values.items() if callable(value)}
        self._sandbox = Sandbox(self._policy, tools={**functions, **self._own_tools()}, **self._options).open()
        data = {name: value for name, value in values.items() if not callable(value)}
        self._session = self._sandbox.session(namespace={**data, "answer": {"content": "", "ready": False}})

    def attach(self, rlm: RLM) -> None:
        """Have `rlm` use this environment. (A table of the library's own has names for its own environments alone.)

        Raises ValueError for one that is not persistent.
        """
        if not rlm.persistent:
            raise ValueError("the RLM closes an environment that is not persistent: make it with persistent=True")
        rlm._persistent_env = self

    def _own_tools(self) -> dict[str, Callable[..., Any]]:
        def llm_query(prompt: str, model: str | None = None) -> str:
            """Return the answer of a language model to one prompt."""
            return self._ask([prompt], model)[0]

        def llm_query_batched(prompts: list[str], model: str | None = None) -> list[str]:
            """Return the answers to several prompts, asked side by side, in their order."""
            return self._ask(prompts, model)

        one, many = llm_query, llm_query_batched
        return {"llm_query": one, "llm_query_batched": many, "rlm_query": one, "rlm_query_batched": many}

    def _ask(self, prompts: list[str], model: str | None) -> list[str]:
        if self._address is None:
            return [_NO_MODEL] * len(prompts)
        if len(prompts) == 1:
            answers = [send_lm_request(self._address, LMRequest(prompt=prompts[0], model=model, depth=self.depth))]
        else:
            answers = send_lm_request_batched(self._address, prompts, model=model, depth=self.depth)
        self._calls += [answer.chat_completion for answer in answers if answer.success]
        return [answer.chat_completion.response if answer.success else f"Error: {answer.error}" for answer in answers]

    # What the library asks of an environment that lives longer than one completion

    def update_handler_address(self, address: tuple[str, int]) -> None:
        """Send calls of a model to this address from now on."""
        self._address = address

    def load_context(self, context_payload: dict[str, Any] | list[Any] | str) -> None:
        """Bind the first context, as `context_0` and `context`."""
        self.add_context(context_payload, 0)

    def add_context(self, context_payload: dict[str, Any] | list[Any] | str, context_index: int | None = None) -> int:
        """Bind a context, as `context_N`; the first is `context` too. Returns N."""
        number = self._contexts if context_index is None else context_index
        self._contexts = max(self._contexts, number + 1)
        return self._bind("context", number, context_payload)

    def get_context_count(self) -> int:
        """Return how many contexts there are."""
        return self._contexts

    def add_history(self, message_history: list[dict[str, Any]], history_index: int | None = None) -> int:
        """Bind the messages of a completion, as `history_N`; the first is `history` too. Returns N."""
        number = self._histories if history_index is None else history_index
        self._histories = max(self._histories, number + 1)
        return self._bind("history", number, message_history)

    def get_history_count(self) -> int:
        """Return how many histories there are."""
        return self._histories

    def _bind(self, name: str, number: int, value: Any) -> int:
        hand_over(self._session, f"{name}_{number}", value)
        if number == 0:
            hand_over(self._session, name, value)
        return number

    def execute_code(self, code: str) -> REPLResult:
        """Run one block of code. What it set as `answer` is final once its `ready` is true."""
        began, self._calls = time.perf_counter(), []
        result = self._session.run(code, timeout=self._timeout)
        return REPLResult(
            stdout=result.stdout,
            stderr=result.stderr if result.ok else f"{result.stderr}\n{result.observation()}",
            locals={variable.name: variable.text for variable in self._session.variables()},
            execution_time=time.perf_counter() - began,
            rlm_calls=self._calls,
            final_answer=self._answer(result),
        )

    def _answer(self, result: Result) -> str | None:
        """Return the answer that a block declared ready. It is asked for only where the block can have changed it."""
        if "answer" not in (*result.changes.changed, *result.changes.created):
            return None
        answer = self._session.get("answer")
        # Any object may stand there, and an array has no truth.
        if not isinstance(answer, dict) or type(ready := answer.get("ready")) not in (bool, int, str) or not ready:
            return None
        self._session.set("answer", {"content": "", "ready": False})
        content = answer.get("content", "")
        return content if isinstance(content, str) else short_repr(content, _ANSWER)

    def cleanup(self) -> None:
        """End the sandbox."""
        self._sandbox.close()

    def __enter__(self) -> SafeEnv:
        return self

    def __exit__(self, *_: object) -> None:
        self.cleanup()
