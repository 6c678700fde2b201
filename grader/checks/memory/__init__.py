"""Does a kernel use memory safely?"""
