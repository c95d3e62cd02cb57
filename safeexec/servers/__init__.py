"""The servers by which programs, people and models in other processes reach sandboxes. Public names only."""
