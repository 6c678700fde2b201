"""`grade ci`: grade one submission where a course's platform asks for it."""
