"""The sync and the async API of the same core."""
