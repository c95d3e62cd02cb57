"""An agent with a person in the loop: a call waits over night, and in another process it is made once.

Where the session stays open, `agent.resume(result.transcript, answer=…)` is all. Here the first process ends: the
session is saved with the step that waits, and the transcript is a file.

Prints:

    monday: refund {'invoice': 'A-17', 'amount': 250} waits: more than 100 takes a signature
    tuesday: Ann signs for 200. The customer gets 200 back.
    looked up: ['A-17'], refunded: [('A-17', 200)]
"""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from safeexec import Allow, Later, Policy, Sandbox
from safeexec.agent import CodeAgent, Message, ScriptedModel, Transcript

looked_up: list[str] = []
refunded: list[tuple[str, int]] = []
POLICY = Policy.load("standard").replace(tools={"approval": ["refund"], "wait_days": 3})
CODE = """<execute_python>
paid = look_up("A-17")
amount = refund("A-17", paid)
amount
</execute_python>"""


def look_up(invoice: str) -> int:
    """Return what was paid for an invoice."""
    looked_up.append(invoice)
    return 250


def refund(invoice: str, amount: int) -> int:
    """Pay back. Returns the amount."""
    refunded.append((invoice, amount))
    return amount


def approve(tool: str, arguments: dict[str, Any]) -> Allow | Later:
    """Small amounts go through; for others a person is asked, who has time until Thursday."""
    return Allow() if arguments["amount"] <= 100 else Later("more than 100 takes a signature")


def conclusion(messages: Sequence[Message]) -> str:
    """Return what the model says, who reads what came of the step."""
    value = next(line for line in messages[-1].content.splitlines() if line.startswith("Value: "))
    return f"The customer gets {value.removeprefix('Value: ')} back."


def opened() -> Sandbox:
    """Return the sandbox of either day."""
    return Sandbox(POLICY, tools=[look_up, refund], approval=approve)


def monday(folder: Path) -> None:
    """The agent works until it needs a person."""
    with opened() as sandbox, sandbox.session() as session:
        agent = CodeAgent(ScriptedModel([CODE]), session, transcript=folder / "run.jsonl")
        waits = agent.run("Refund invoice A-17.").waiting_for
        assert waits is not None
        print(f"monday: {waits.tool} {dict(waits.arguments)} waits: {waits.note}")
        session.save(folder / "state")


def tuesday(folder: Path) -> None:
    """Ann has signed, for less. The step runs again; the invoice is not looked up once more."""
    with opened() as sandbox, sandbox.restore(folder / "state") as session:
        agent = CodeAgent(ScriptedModel([conclusion]), session)
        transcript = Transcript.load(folder / "run.jsonl")
        result = agent.resume(transcript, answer=Allow(arguments={"amount": 200}))
        print(f"tuesday: Ann signs for 200. {result.answer}")


def main() -> None:
    with TemporaryDirectory() as folder:
        monday(Path(folder))
        tuesday(Path(folder))
    print(f"looked up: {looked_up}, refunded: {refunded}")


if __name__ == "__main__":
    main()
