"""What safeexec costs, one script per question. `python -m benchmarks` runs them all, `--quick` with fewer rounds."""
