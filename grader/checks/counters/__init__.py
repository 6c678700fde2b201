"""Are a kernel's memory accesses as few as they could be?"""
