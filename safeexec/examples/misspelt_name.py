"""A model misspells a name, reads the hint, and mends its code: what the loop is for.

The session keeps its variables between the two steps, and the events show the run as it happens. `safeexec agent
--replay squrt` shows the same in a terminal.

Prints:

    step 1: error
      AttributeError: module 'math' has no attribute 'squrt'
      hint: Did you mean `math.sqrt`?
    step 2: ok
      1.414214
    answer: The square root of 2 is about 1.414214.
"""

from safeexec.agent import CodeAgent, ScriptedModel

REPLIES = [
    "I compute it.\n<execute_python>\nimport math\nmath.squrt(2)\n</execute_python>",
    "The name was wrong.\n<execute_python>\nround(math.sqrt(2), 6)\n</execute_python>",
    "The square root of 2 is about 1.414214.",
]


def main() -> None:
    agent = CodeAgent(ScriptedModel(REPLIES), "calculator", max_steps=5)
    result = agent.run("What is the square root of 2?")
    for step in result.steps:
        print(f"step {step.number}: {step.result.outcome}")
        error = step.result.error
        if error is None:
            print(f"  {step.result.value}")
        else:
            print(f"  {error.type}: {error.message}")
            print(f"  hint: {error.hint}")
    print("answer:", result.answer)


if __name__ == "__main__":
    main()
