"""One session: its process, its steps, its checkpoints, and what its child says."""
