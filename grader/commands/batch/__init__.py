"""A whole class: its hand-ins graded, its reports merged, summed up and shown."""
