"""Programs as people write them, run unchanged: what they print, and how they end, against plain CPython."""
