"""The trusted side: sandboxes, sessions, checkpoints, and the supervision of the processes that run guest code."""
