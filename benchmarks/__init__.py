"""What safeexec costs, one script per question. `python -m benchmarks` runs them all, `--quick` with fewer rounds."""

import os

# What is measured has its byte code, as pip leaves it: without, a start takes twice as long.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
