"""One file per kernel facility, by ctypes, with no knowledge of policies. A leaf: it imports nothing of safeexec but itself."""
