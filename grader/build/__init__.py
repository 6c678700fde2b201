"""Build a source file into something that a worker can run, or state why it cannot be built.

    kernel_file         the way in: choose the compiler, and reject with a sentence
    artifact            the results: `Built`, or `Rejected` with a sentence for the student
    compiler            run any compiler in the sandbox, into the cache
    nvcc, host_compiler the compilers: for a GPU, and for this machine's CPU
    trampoline          the C++ file that includes the student's file and calls the entry
    diagnostics         compiler output → file, line, message
    python_source       the syntax and the entry of a Python file, without running it
    student_main        a student's own main.cu, linked with a kernel (`main_shim`)

Everything that a compiler reads is hostile, so every compiler runs in the sandbox.
"""
