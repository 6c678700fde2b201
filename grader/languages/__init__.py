"""The languages of kernel files: how each is built, run, watched and counted; their registry."""
