"""Can the student's own program tell a right kernel from a wrong one?"""
