"""Decide whether a step can be repeated: run again from the state before it, with the same outcome."""
