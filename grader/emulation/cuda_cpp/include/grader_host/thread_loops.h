// What a kernel consists of that runs once for each block (grader/emulation/cuda_cpp/thread_loops.py).
//
//   GRADER_LOOPS(variables)       at its begin: the arrays for local variables
//   GRADER_EACH(calls, begin)     the following statements, for each thread, begin with `begin`
//   GRADER_EACH_END(end)          and end with `end`
//   GRADER_STRIDE(header, …)      a loop whose iterations run for all threads in turn
//   GRADER_BARRIER
//   GRADER_UNROLL                 before a loop of few steps, whose number is constant
//
// `calls`: the statements call functions that may read threadIdx. The checked build has the kernel as
// it was written.
#pragma once

#if GRADER_CHECKED

#define GRADER_LOOPS(...)
#define GRADER_EACH(calls, ...)
#define GRADER_EACH_END(...)
#define GRADER_STRIDE(header, calls, type, name, kept, value, condition, ...) header
#define GRADER_STRIDE_END(name, kept, step, ...)
#define GRADER_BARRIER __syncthreads();
#define GRADER_UNROLL

#else

#define GRADER_UNROLL _Pragma("GCC unroll 16")

extern "C" void grader_begin_loops();
extern "C" void* grader_keep(size_t bytes_of_a_thread);

#define GRADER_INDEX_OF(x, y, z) \
    uint3 { static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z) }

namespace grader {

// The kernel runs for the whole block.
struct BlockLoops {
    GRADER_INLINE BlockLoops() { grader_begin_loops(); }
};

// A local variable of each thread.
template <class T> struct PerThread {
    T* at = static_cast<T*>(grader_keep(sizeof(T)));
    GRADER_INLINE T& operator[](long thread) const { return at[thread]; }
};

// Signed counters of an index's size: g++ vectorises no loop whose index may wrap around.
template <bool Calls, class Piece> GRADER_INLINE void each_thread(Piece piece) {
    const int width = static_cast<int>(blockDim.x), height = static_cast<int>(blockDim.y), depth = static_cast<int>(blockDim.z);
    long row = 0;
    for (int z = 0; z < depth; ++z)
        for (int y = 0; y < height; ++y, row += width)
            for (int x = 0; x < width; ++x) {
                if (Calls) const_cast<uint3&>(threadIdx) = GRADER_INDEX_OF(x, y, z);
                piece(row + x, x, y, z);
            }
}

// Until the piece is false for all threads.
template <bool Calls, class Piece> GRADER_INLINE void while_any(Piece piece) {
    for (bool any = true; any;) {
        any = false;
        each_thread<Calls>([&](long thread, int x, int y, int z) __attribute__((always_inline)) { any |= piece(thread, x, y, z); });
    }
}

}  // namespace grader

#define GRADER_LOOPS(...) ::grader::BlockLoops grader_loops; __VA_ARGS__
#define GRADER_PIECE \
    [&](const long grader_thread, const int grader_x, const int grader_y, const int grader_z) __attribute__((always_inline))
#define GRADER_OWN_INDEX const uint3 threadIdx = GRADER_INDEX_OF(grader_x, grader_y, grader_z);
#define GRADER_EACH(calls, ...) ::grader::each_thread<calls>(GRADER_PIECE { __VA_ARGS__
#define GRADER_EACH_END(...) __VA_ARGS__ });
#define GRADER_STRIDE(header, calls, type, name, kept, value, condition, ...)                           \
    ::grader::each_thread<calls>(GRADER_PIECE { __VA_ARGS__ kept[grader_thread] = value; });            \
    ::grader::while_any<calls>(GRADER_PIECE -> bool {                                                   \
        __VA_ARGS__ type name = kept[grader_thread];                                                    \
        if (!condition) return false;
#define GRADER_STRIDE_END(name, kept, step, ...) step; kept[grader_thread] = name; __VA_ARGS__ return true; });
#define GRADER_BARRIER

#endif
