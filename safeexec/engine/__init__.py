"""Holds what must be right for the wall and for undo: policy, kernel, processes, sessions."""
