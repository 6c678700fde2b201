"""What a submission's own text shows about a failure: a better hint than the failure alone.

    cpp_code, size_product       what the others read of CUDA C++: kernels, launches, sizes
    python_text                  what the others read of Python
    cuda_grid, triton_grid       a grid that leaves elements out
    cuda_index, triton_index     an index, an address or a mask at the line of a finding
    launch_arguments             arguments in each other's place, an axis that is missing
    copies, host_arrays          copies, allocations and frees of host code
    unfilled                     device memory that nothing has filled
    stuck_loops                  the loop that cannot end
    formulas, triton_errors      a formula; what Triton's compiler refuses

Text proves nothing: hints come from here, and no verdict.
"""
