"""The operating system: processes, signals, file modes, the build cache, installed tools."""
