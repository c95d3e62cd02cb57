"""Guest code's own process. Trusted until lockdown; whatever it says afterwards is a claim of the guest.

Imported by the zygote, and by the language for the programs that it compiles. `process/lockdown.py` is part of the
wall; after it, a mistake in here harms the session alone.
"""
