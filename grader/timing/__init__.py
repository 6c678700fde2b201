"""Time relative to torch: how it is estimated and what is concluded from it."""
