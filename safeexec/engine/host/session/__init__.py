"""One session: its process, its steps, its checkpoints, and what its child says.

`channel`, `decode` and `output` read what a hostile child sends. All else keeps state right, not the wall.
"""
