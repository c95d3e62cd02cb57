"""The language at run time: builtins, guards and imports of guest code."""
