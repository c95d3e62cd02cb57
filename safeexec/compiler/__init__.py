"""Layer 1 at compile time: source text in, code objects or explained refusals out. Pure: no processes, no files."""
