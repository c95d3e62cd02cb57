"""Data of the hints: what programs write, and what they should write instead."""
