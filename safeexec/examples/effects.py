"""Tools whose effects follow the session: letters are sent when a step is kept, bookings undone by a rollback.

Prints:

    posted: 1 letter
    booked seat 4, and the seat is given back
    of two branches the one that was adopted posts: ['Ada', 'Grace']
"""

from safeexec import Sandbox, tool

posted: list[str] = []
seats: set[int] = set()


@tool(effect="deferred")
def post(to: str) -> None:
    """Post a letter. It leaves when the step has ended well."""
    posted.append(to)


def give_back(booked: str, seat: int) -> None:
    """Undo a booking: it gets what `book` returned, and the arguments."""
    seats.discard(seat)


@tool(undo=give_back)
def book(seat: int) -> str:
    """Book a seat."""
    seats.add(seat)
    return f"seat {seat}"


def main() -> None:
    """Show that what a model did in vain has no effect."""
    with Sandbox("standard", tools=[post, book]) as sandbox, sandbox.session() as session:
        session.run("post('Ada')")
        session.run("post('Bob')\n1 / 0", atomic=True)  # undone: Bob gets no letter
        print(f"posted: {len(posted)} letter")
        booked = session.run("book(4)").value
        session.rollback()
        print(f"booked {booked}, and {'the seat is given back' if not seats else 'the seat is taken'}")
        one, other = session.branch(2)
        one.run("post('Grace')")
        other.run("post('Eve')")
        one.adopt()
        print(f"of two branches the one that was adopted posts: {posted}")


if __name__ == "__main__":
    main()
