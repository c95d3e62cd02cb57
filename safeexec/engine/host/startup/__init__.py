"""Starting processes: what the kernel shall enforce, the zygote, its children."""
