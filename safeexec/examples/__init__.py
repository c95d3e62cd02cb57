"""Short programs, one per use: `safeexec example` lists them, `safeexec example ten_lines > my.py` copies one.

Each runs offline as it stands. Its docstring says what it shows, which libraries it needs (`Needs:`), and what it
prints (`Prints:`, an indented block; `…` stands for the rest of a line). A test runs each and compares.
"""
