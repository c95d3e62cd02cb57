"""The files of a session: its workspace directory, and saved states."""
