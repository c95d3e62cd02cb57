"""Sessions on a machine where everything goes wrong at once: ``python -m tests.chaos --minutes 30``."""
