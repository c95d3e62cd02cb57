"""What guest code may do: profiles in YAML, read into frozen `Policy` objects. Pure: no processes, no sockets."""
