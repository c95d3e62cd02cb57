"""Watching: what the processes of a session use, and the end of what uses too much.

All of it is part of the wall but `idle.py` and `rotation.py`, which only say when to look.
"""
