"""The programs that run student code, and the executor of its launches, which runs none.

They start as files, by path, or are forked by one of the two servers here, and import only this
package and `grader.protocol`: whatever they can import, a submission can import too. The judge
imports nothing of this package.
"""
