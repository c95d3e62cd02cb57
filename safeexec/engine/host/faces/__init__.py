"""What users hold: the blocking and the asynchronous face of the same core."""
