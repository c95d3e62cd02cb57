"""Your own loop around an SDK: one tool, `run_python`, for OpenAI, Mistral and Anthropic.

`functions.schema` declares the tool in the words of an API, `functions.answer` runs one call of it and gives the text
to send back. OpenAI and Mistral share their messages; Anthropic has its own. Without a key the replies below are played
back: they have the shape that `model_dump()` gives for the SDKs' objects.

Prints:

    openai: the mean is 5.0
    anthropic: the mean is 5.0
"""

import os
from collections.abc import Callable
from typing import Any

from safeexec import Sandbox, Session
from safeexec.adapters import functions

TASK = "What is the mean of the even numbers up to 9, zero left out?"
CODE = '{"code": "from statistics import mean\\nmean(float(n) for n in range(2, 9, 2))"}'
Ask = Callable[[list[Any], list[Any]], dict[str, Any]]


def openai(session: Session, ask: Ask) -> str:
    """Return the loop for Chat Completions; Mistral's is the same, with `schema(…, "mistral")` and its own client."""
    messages: list[Any] = [{"role": "user", "content": TASK}]
    tools = [functions.schema(session.policy, "openai")]
    while True:
        reply = ask(messages, tools)
        messages.append(reply)
        for call in reply.get("tool_calls") or ():
            text, _ = functions.answer(session, call["function"]["arguments"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
        if not reply.get("tool_calls"):
            return str(reply["content"])


def anthropic(session: Session, ask: Ask) -> str:
    """Return the loop for the Messages API."""
    messages: list[Any] = [{"role": "user", "content": TASK}]
    tools = [functions.schema(session.policy, "anthropic")]
    while True:
        reply = ask(messages, tools)
        messages.append({"role": "assistant", "content": reply["content"]})
        answers = [
            {"type": "tool_result", "tool_use_id": block["id"], "content": functions.answer(session, block["input"])[0]}
            for block in reply["content"]
            if block["type"] == "tool_use"
        ]
        if not answers:
            return "".join(block.get("text", "") for block in reply["content"])
        messages.append({"role": "user", "content": answers})


def ask_openai(messages: list[Any], tools: list[Any]) -> dict[str, Any]:
    from openai import OpenAI

    done = OpenAI().chat.completions.create(model="gpt-5", messages=messages, tools=tools)
    return dict(done.choices[0].message.model_dump(exclude_none=True))


def ask_anthropic(messages: list[Any], tools: list[Any]) -> dict[str, Any]:
    from anthropic import Anthropic

    done = Anthropic().messages.create(model="claude-sonnet-5", max_tokens=2000, messages=messages, tools=tools)
    return dict(done.model_dump(include={"content"}, exclude_none=True))


def value_in(observation: str) -> str:
    """Return what the tool answered: the line of the value."""
    return next(line.removeprefix("Value: ") for line in observation.splitlines() if line.startswith("Value: "))


def played_openai(messages: list[Any], tools: list[Any]) -> dict[str, Any]:
    if messages[-1]["role"] == "tool":
        return {"role": "assistant", "content": f"openai: the mean is {value_in(messages[-1]['content'])}"}
    call = {"id": "call_1", "type": "function", "function": {"name": "run_python", "arguments": CODE}}
    return {"role": "assistant", "tool_calls": [call]}


def played_anthropic(messages: list[Any], tools: list[Any]) -> dict[str, Any]:
    if len(messages) > 1:
        result = messages[-1]["content"][0]["content"]
        return {"content": [{"type": "text", "text": f"anthropic: the mean is {value_in(result)}"}]}
    return {"content": [{"type": "tool_use", "id": "toolu_1", "name": "run_python", "input": CODE}]}


def main() -> None:
    with Sandbox("calculator") as sandbox:
        with sandbox.session() as session:
            print(openai(session, ask_openai if os.environ.get("OPENAI_API_KEY") else played_openai))
        with sandbox.session() as session:
            print(anthropic(session, ask_anthropic if os.environ.get("ANTHROPIC_API_KEY") else played_anthropic))


if __name__ == "__main__":
    main()
