"""What users hold: the sync and the async API of the same core."""
