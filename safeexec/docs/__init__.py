"""What users read, page by page; running it builds the reference of the public names."""
