"""The pages for users; running it builds the reference of the public names."""
