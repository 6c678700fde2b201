"""Execute PTX, which Numba compiles kernels to, without a GPU: all threads of many blocks at once.

parser        text → a kernel's instructions, each with its place in the student's file
operations    what one instruction computes, on numpy arrays with an element for each thread
instructions  instructions as functions of some threads' registers
machine       which threads run which instruction next: branches and barriers
memory        arguments, shared and local memory: bounds, alignment, what was never written
races         accesses of two threads that nothing orders
counting      what warps request of global memory
"""
