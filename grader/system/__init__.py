"""Processes, signals, files and tools of this machine."""
