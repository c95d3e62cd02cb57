"""Recordings of sessions: what went in, what came out, line by line. Pure, but for the thread that writes."""
