// tensor_cores.h: tensor cores by PTX, for sm_80 and newer.
//
// A matrix is spread over the 32 lanes of a warp, and all of them call these functions together.
// A fragment is what a lane has of it. 8 x 8 halves are a register: lane i has the two elements
// 2 (i % 4) and 2 (i % 4) + 1 of row i / 4. A left operand of 16 x 16 halves is four of them (upper
// left, lower left, upper right, lower right), a right one of 16 x 8 two, which are transposed.
#pragma once
#include <cuda_fp16.h>

constexpr int MMA = 16;   // a tensor core multiplies 16 x 16 by 16 x 8
constexpr int MMA_N = 8;  // columns of the product

// Load four 8 x 8 matrices from shared memory. Lane i has the address of row i % 8 of matrix i / 8:
// 8 halves, at a multiple of 16 bytes.
__device__ __forceinline__ void load_matrices(unsigned (&to)[4], const __half* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
                 : "memory");
}

// The same, with each matrix transposed.
__device__ __forceinline__ void load_transposed(unsigned (&to)[4], const __half* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
                 : "memory");
}

// sum += left * right, 16 x 16 by 16 x 8 halves; `upper` and `lower` are the right operand's rows 0
// to 7 and 8 to 15. Of the sum lane i has the columns 2 (i % 4) and 2 (i % 4) + 1 of row i / 4, and
// then those of row i / 4 + 8.
__device__ __forceinline__ void multiply(float (&sum)[4], const unsigned (&left)[4], unsigned upper,
                                         unsigned lower)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(upper), "r"(lower));
}

// Two neighbouring elements, rounded to halves, in a register: of two sums of 16 x 8, side by side,
// these are the left operand of another product.
__device__ __forceinline__ unsigned halves(float left, float right)
{
    const __half2 both = __floats2half2_rn(left, right);
    return reinterpret_cast<const unsigned&>(both);
}

// 2 to the power of x in one instruction; exp2f needs more, to be right for results below 1e-38.
__device__ __forceinline__ float power_of_two(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
