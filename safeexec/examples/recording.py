"""Record a session, look at its past, and run it again with one thing changed.

Prints:

    step 2 wrote total, and read prices
    total last changed in step 2
    nothing differs when it is run again
    step 2: text was '7.5', and is '12.5'; because prices was set to another value
"""

from tempfile import TemporaryDirectory

from safeexec import Policy, Sandbox, replay

FIXED = Policy.load("standard").replace(determinism={"seed": 1})  # random numbers, too, come again


def main() -> None:
    """Each step is written down as it happens; a recording runs again wherever its policy is known."""
    with TemporaryDirectory() as directory:
        path = f"{directory}/run.jsonl"
        with Sandbox(FIXED) as sandbox, sandbox.session(record=path) as session:
            session.run("import random")
            session.set("prices", [2.5, 5.0])
            session.run("total = sum(prices)\ntotal")
            session.run("random.random()")
            past = session.history()
            step = past.at(2)
            print(f"step 2 wrote {', '.join(step.written)}, and read {', '.join(step.reads())}")
            print(f"total last changed in step {past.when('total')[0].step}")
        with replay(path) as again:
            print("nothing differs when it is run again" if again.difference is None else again.difference)
        with replay(path, set={"prices": [5.0, 7.5]}) as other:
            print(other.difference)


if __name__ == "__main__":
    main()
