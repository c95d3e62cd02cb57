"""A recording run again: its inputs in a fresh sandbox, its outputs compared."""
