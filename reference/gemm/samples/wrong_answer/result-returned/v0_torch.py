# Returns the product instead of writing it into c.
def gemm(a, b, c, m, n, k):
    return a @ b
