"""A sandbox elsewhere that looks like one here: `connect` and `async_connect`."""
