// Tensor cores by nvcuda::wmma. A fragment's elements are spread over the lanes: element i of lane l
// is element 32 i + l of the matrix in row-major order (CUDA leaves the order open). Products are
// exact in float or int, and sums are in the type of the accumulator.
#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"

extern "C" void grader_matrix_rows(const void* first, int write);

namespace nvcuda {
namespace wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };
namespace precision { struct tf32 {}; }

namespace grader_wmma {
template <class T> struct Stored { typedef T type; };
template <> struct Stored<precision::tf32> { typedef float type; };
template <class Use, int M, int N, int K> struct Shape;
template <int M, int N, int K> struct Shape<matrix_a, M, N, K> { static constexpr int rows = M, columns = K; };
template <int M, int N, int K> struct Shape<matrix_b, M, N, K> { static constexpr int rows = K, columns = N; };
template <int M, int N, int K> struct Shape<accumulator, M, N, K> { static constexpr int rows = M, columns = N; };
template <class T> struct Number { typedef float type; };
template <> struct Number<signed char> { typedef int type; };
template <> struct Number<unsigned char> { typedef int type; };
template <> struct Number<double> { typedef double type; };
template <class T> GRADER_INLINE auto value(T x) { return (typename Number<T>::type)x; }

// The shapes of the hardware.
template <int M, int N, int K, class T> constexpr bool allowed() {
    constexpr bool square = (M == 16 && N == 16) || (M == 32 && N == 8) || (M == 8 && N == 32);
    if (sizeof(T) == 8) return M == 8 && N == 8 && K == 4;
    return (square && K == 16) || (M == 16 && N == 16 && K == 8);
}
}  // namespace grader_wmma

template <class Use, int M, int N, int K, class T, class Layout = void> struct fragment {
    static_assert(grader_wmma::allowed<M, N, K, T>(), "tensor cores have no such shape for this type");
    typedef T element_type;
    typedef typename grader_wmma::Stored<T>::type storage_element_type;
    static constexpr int grader_rows = grader_wmma::Shape<Use, M, N, K>::rows;
    static constexpr int grader_columns = grader_wmma::Shape<Use, M, N, K>::columns;
    static constexpr int num_elements = grader_rows * grader_columns / 32;
    static constexpr int num_storage_elements = num_elements;
    storage_element_type x[num_elements];
};

template <class F, class T> GRADER_INLINE void fill_fragment(F& f, const T& value) {
    for (auto& element : f.x) element = value;
}

// CUDA asks for rows that begin 16 bytes, or a multiple, apart (of double it says nothing).
template <class T> GRADER_INLINE void grader_check_rows(const T* first, unsigned stride, int write) {
#if GRADER_CHECKED
    if (sizeof(T) < 8 && stride * sizeof(T) % 16 != 0) grader_matrix_rows(first, write);
#else
    (void)first, (void)stride, (void)write;
#endif
}

template <class Use, int M, int N, int K, class T, class Layout, class From>
GRADER_INLINE void grader_load(fragment<Use, M, N, K, T, Layout>& f, const From* from, unsigned stride, bool by_rows) {
    grader_check_rows(from, stride, 0);
    const int lane = (int)(grader::linear_thread() % 32);
    for (int i = 0; i < f.num_elements; ++i) {
        const int at = 32 * i + lane, row = at / f.grader_columns, column = at % f.grader_columns;
        f.x[i] = by_rows ? from[row * stride + column] : from[column * stride + row];
    }
    __syncwarp();
}
template <class Use, int M, int N, int K, class T, class From>
GRADER_INLINE void load_matrix_sync(fragment<Use, M, N, K, T, row_major>& f, const From* from, unsigned stride) {
    grader_load(f, from, stride, true);
}
template <class Use, int M, int N, int K, class T, class From>
GRADER_INLINE void load_matrix_sync(fragment<Use, M, N, K, T, col_major>& f, const From* from, unsigned stride) {
    grader_load(f, from, stride, false);
}
template <int M, int N, int K, class T, class From>
GRADER_INLINE void load_matrix_sync(fragment<accumulator, M, N, K, T>& f, const From* from, unsigned stride, layout_t layout) {
    grader_load(f, from, stride, layout == mem_row_major);
}
template <int M, int N, int K, class T, class To>
GRADER_INLINE void store_matrix_sync(To* to, const fragment<accumulator, M, N, K, T>& f, unsigned stride, layout_t layout) {
    grader_check_rows(to, stride, 1);
    const int lane = (int)(grader::linear_thread() % 32);
    __syncwarp();  // it waits for all lanes, and then stores: nothing waits behind it
    for (int i = 0; i < f.num_elements; ++i) {
        const int at = 32 * i + lane, row = at / N, column = at % N;
        to[layout == mem_row_major ? row * stride + column : column * stride + row] = f.x[i];
    }
}

template <int M, int N, int K, class T, class A, class B, class D, class C>
GRADER_INLINE void mma_sync(fragment<accumulator, M, N, K, D>& d, const fragment<matrix_a, M, N, K, T, A>& a,
                            const fragment<matrix_b, M, N, K, T, B>& b, const fragment<accumulator, M, N, K, C>& c) {
    typedef fragment<matrix_a, M, N, K, T, A> Left;
    typedef fragment<matrix_b, M, N, K, T, B> Right;
    Left left[32];
    Right right[32];
    grader::all_lanes(a, left);
    grader::all_lanes(b, right);
    const int lane = (int)(grader::linear_thread() % 32);
    for (int i = 0; i < d.num_elements; ++i) {
        const int at = 32 * i + lane, row = at / N, column = at % N;
        auto sum = grader_wmma::value(left[0].x[0]);
        sum = (decltype(sum))c.x[i];
        for (int k = 0; k < K; ++k) {
            const int in_a = row * K + k, in_b = k * N + column;
            sum += grader_wmma::value(left[in_a % 32].x[in_a / 32]) * grader_wmma::value(right[in_b % 32].x[in_b / 32]);
        }
        d.x[i] = sum;
    }
}

GRADER_INLINE float __float_to_tf32(float value) { return grader::tf32_value(value); }

}  // namespace wmma
}  // namespace nvcuda
