"""Watching: what the processes of a session use, and the end of what uses too much."""
