"""Triton kernels as data: parse their IR, and execute it with every access checked.

parser                  the text of Triton's IR → `ir`, with `types`
execution               one launch, in batches of programs
runner                  a batch: operations, calls, branches, loops, on the `values` of a `frame`
arithmetic, libdevice   what operations compute, element by element; `blocks` as a whole, `scaled`
block_pointers          block pointers and tensor descriptors
affine                  regular offsets and the masks that compare them, without their elements
propagation, liveness   undefined elements and overflows; values that nobody uses
accesses                loads, stores and atomics, lane by lane
promises                what tl.multiple_of and tl.max_contiguous say of numbers, and is not so
tiles                   loads and stores through regular offsets, as slices
memory                  the checks of an access
messages                what is said of findings
inline_assembly         tl.inline_asm_elementwise, by the executor of `ptx`
gpu_dialect             operations that the compiler for a GPU adds: shared memory, layouts
requests                what warps request of memory, by `layouts` and the widths of `ptx`
"""
