"""One step in the child: run it, and report what came of it."""
