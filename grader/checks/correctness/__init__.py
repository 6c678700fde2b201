"""The correctness check: does a kernel compute the right values?"""
