"""`grade ci`: grade one submission on a course's platform."""
