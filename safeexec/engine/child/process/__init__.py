"""The child as a process: its start, its lockdown, its loop, its checkpoints."""
