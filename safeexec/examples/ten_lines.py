"""The agent loop in ten lines: a model writes code, a sandbox runs it, the model reads the result and answers.

With MISTRAL_API_KEY set a real model is asked; without it the two replies below are played back. Their code really
runs.

Prints:

    1 ok 92082.84
    You will have 92,082.84 EUR.
"""

import os

from safeexec.agent import CodeAgent, MistralModel, ScriptedModel

REPLIES = [
    "<execute_python>\n"
    "balance = 0.0\n"
    "for month in range(120): balance = (balance + 500) * (1 + 0.08 / 12)\n"
    "round(balance, 2)\n"
    "</execute_python>",
    "You will have 92,082.84 EUR.",
]


def main() -> None:
    model = MistralModel() if os.environ.get("MISTRAL_API_KEY") else ScriptedModel(REPLIES)
    agent = CodeAgent(model, "calculator", max_steps=5)
    result = agent.run("I save 500 EUR a month for 10 years, at 8 % a year, monthly. What will I have?")
    for step in result.steps:
        print(step.number, step.result.outcome, step.result.value)
    print(result.answer)


if __name__ == "__main__":
    main()
