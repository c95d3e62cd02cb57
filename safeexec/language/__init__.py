"""Advice with force, before the kernel's wall: what a policy refuses, early, in its own words, and why."""
