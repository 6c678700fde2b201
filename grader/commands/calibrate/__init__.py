"""`grade calibrate`: measure references on a GPU and propose tiers."""
