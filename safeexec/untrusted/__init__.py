"""Readers of what a stranger wrote: files, YAML and other texts that reach the host. Each is bounded and linear.

A reader here looks at the size before it reads, opens regular files only, follows no link below its root, bounds digits
and depth, and raises nothing but an error of safeexec. `tests/untrusted/test_readers.py` doubles hostile inputs for
each of them and shows that the work grows no faster than the input. What cannot be read like that runs in a child.
"""
