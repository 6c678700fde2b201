"""Does the submission do the work itself, as the assignment asks?"""
