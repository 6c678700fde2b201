"""This machine's GPUs: their state from the driver, a monitor, and a lock for exclusive use."""
