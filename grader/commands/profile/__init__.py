"""`grade profile`: what one kernel costs, and what limits it."""
