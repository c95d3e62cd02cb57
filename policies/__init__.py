"""The shipped profiles: YAML files that people read. Code finds them through `Policy.load`."""
