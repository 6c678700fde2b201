"""`grade profile`: the cost of one kernel, and its bottleneck."""
