"""The language layer at compile time: source text in, code objects or explained refusals out. Pure."""
