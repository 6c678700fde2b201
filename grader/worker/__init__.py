"""The programs that run student code.

They are started as files, by path, and import nothing of the grader but their
neighbours here: whatever they could reach, a hand-in could. `wire` is the one
module that the judge imports too.
"""
