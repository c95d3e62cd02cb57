"""All that host, zygote and child share: messages, values, frames and their order. Pure: no sockets, no processes."""
