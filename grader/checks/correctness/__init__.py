"""Does a kernel compute what it should?"""
