"""One step in the child: run it, and tell what came of it."""
