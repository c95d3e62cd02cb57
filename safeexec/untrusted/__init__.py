"""Readers of what strangers wrote: linear, bounded, and here alone. A leaf: it imports only errors and text."""
