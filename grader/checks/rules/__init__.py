"""The rules check: does the submission do the work itself, as the assignment requires?"""
