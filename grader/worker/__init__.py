"""The programs that run student code.

They are started as files, by path, and import nothing of the grader but their neighbours
here and `grader.protocol`: whatever they could reach, a submission could. The judge imports
nothing of this package.
"""
