"""Processes that grade hand-in after hand-in, with all that is dear kept ready."""
