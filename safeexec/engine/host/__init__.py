"""The trusted side: sandboxes, sessions, checkpoints, and the supervision of the processes that run guest code.

Imported by the package itself, by `remote` and by what users hold; its folders import one another. What holds the wall
is `startup` (what is enforced), `watch` (limits, and the end of processes) and what reads a child's messages
(`session/channel.py`, `session/decode.py`, `session/output.py`).
"""
