"""`TYPE_CHECKING` as `typing` has it, which takes 3 ms to import. Type checkers know it by its name."""

TYPE_CHECKING = False
