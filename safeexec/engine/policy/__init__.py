"""Profiles of what guest code may do: YAML, read into frozen `Policy` objects. Pure: no processes, no sockets."""
