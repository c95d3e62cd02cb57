"""Sessions written down: line by line in recordings, kept in stores, read again; and steps that wait for an answer."""
