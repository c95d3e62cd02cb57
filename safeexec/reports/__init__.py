"""Questions about a policy: why is this refused, what does a program need, what does a model have to know."""
