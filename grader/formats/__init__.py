"""Writes a report as terminal text, or in the format of a learning platform or CI system."""
