"""Leaves that every folder may import: they import nothing, start nothing and hold no state."""
