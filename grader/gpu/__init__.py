"""The GPU of this machine: what the driver says of it, and whose turn it is."""
