"""Triton's interpreter, with every access checked and counted."""
