"""Guest code's own process. Trusted until lockdown; whatever it says afterwards is a claim of the guest."""
