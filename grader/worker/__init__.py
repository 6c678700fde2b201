"""The programs that run student code, and the executor of its launches, which runs none.

They start as files, by path, and import only this package and `grader.protocol`: whatever they can
import, a submission can import too. The judge imports nothing of this package.
"""
