"""What the executors of Triton's IR and of PTX share.

location          where an instruction comes from
storage, regions  allocations, and what is known of each cell
findings          what is found
picking           elements, by masks and places
warp_requests     what warps request of memory
errors            what ends a launch
"""
