"""The counters check: are a kernel's memory accesses as few as they could be?"""
