"""One file per kernel facility, by ctypes. A leaf: it knows no policy and imports `syscalls` alone."""
