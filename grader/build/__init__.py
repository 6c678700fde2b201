"""From a hand-in's file to something a worker can run, or to why not.

    product      the two answers: `Built`, or `Rejected` with a student's sentence
    trampoline   the C++ file that includes the student's and calls the entry
    diagnostics  compiler output → file, line, message
    nvcc, host   CUDA C++ for a GPU, and for this machine's processor
    python       what can be said of a Python file without running it

Everything a compiler reads is hostile, so every one of them runs in the sandbox.
"""
