"""Replays a recording and compares the results, and shows it as a page."""
