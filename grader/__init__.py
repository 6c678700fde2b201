"""An autograder and assignment framework for GPU-programming courses."""

__version__ = "0.1.0"
