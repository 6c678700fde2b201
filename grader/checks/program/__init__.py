"""The program check: can the student's own program tell a right kernel from a wrong one?"""
