"""The doors for programs: one table of methods, and what serves it."""
