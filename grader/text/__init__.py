"""Text for and from people: numbers, printable characters, near misses."""
