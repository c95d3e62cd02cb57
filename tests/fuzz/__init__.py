"""Everything that reads what a stranger wrote, given what nobody would write: ``python -m tests.fuzz --minutes 10``."""
