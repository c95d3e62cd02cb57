"""Plugins: somebody's code, loaded once and called many times."""
