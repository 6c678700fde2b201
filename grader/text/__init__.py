"""Text for people: formatted numbers, and untrusted text made printable."""
