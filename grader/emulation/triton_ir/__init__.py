"""Triton kernels as data: parse their IR, and execute it with every access checked.

parser        the text of Triton's IR → `ir`: functions, blocks, operations, with `types`
executor      one launch, in batches of programs
runner        a batch: operations, calls, branches and loops, on `values`
arithmetic, libdevice, blocks   what operations compute
propagation, liveness           undefined elements and overflows; values nobody uses
accesses      loads, stores and atomics
memory        storages, views, shadows, and the checks of an access
traffic, findings               what is counted, what is found
"""
