"""Triton kernels as data: parse their IR, and execute it with every access checked.

parser                  the text of Triton's IR → `ir`, with `types`
executor                one launch, in batches of programs
runner                  a batch: operations, calls, branches, loops, on the `values` of a `frame`
arithmetic, libdevice   what operations compute, element by element; `blocks` as a whole
propagation, liveness   undefined elements and overflows; values that nobody uses
accesses                loads, stores and atomics
memory, storage         the checks of an access; allocations, and what is known of each cell
findings                what is found
gpu_dialect             operations that the compiler for a GPU adds: shared memory, layouts
requests                what warps request of memory, by `layouts` and the widths of `ptx`
"""
