"""How fast is a kernel, relative to torch?"""
