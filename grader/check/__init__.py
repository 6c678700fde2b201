"""The checks, one function each: what was built → what became of it.

`correctness` judges outputs. `ending` says, for every check, what an ended
worker means for the student.
"""
