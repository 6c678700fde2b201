// Warp-level functions. Each is a rendezvous of the mask's live lanes in the
// runtime (../../runtime/warp.cpp): every lane stores 64 bits and an operand,
// and gets the result once the last lane has arrived.
#pragma once

namespace grader {
enum class WarpOperation : int {
    sync, shuffle, shuffle_up, shuffle_down, shuffle_xor, ballot, any, all,
    match_any, match_all, add, min, max, min_signed, max_signed, bit_and, bit_or, bit_xor, active,
};
}

extern "C" unsigned long long grader_warp(int operation, unsigned mask, unsigned long long value,
                                          int operand, int width, int* predicate);

namespace grader {

GRADER_INLINE unsigned long long warp(WarpOperation operation, unsigned mask, unsigned long long value,
                                      int operand = 0, int width = 32, int* predicate = nullptr) {
    return grader_warp(static_cast<int>(operation), mask, value, operand, width, predicate);
}

// A value's bits, padded to 64; larger values are sent in pieces.
template <class T> GRADER_INLINE unsigned long long bits_of(T value) {
    static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
    union { unsigned long long bits; T value; } both = {0};
    both.value = value;
    return both.bits;
}
template <class T> GRADER_INLINE T from_bits(unsigned long long bits) {
    union { unsigned long long bits; T value; } both = {bits};
    return both.value;
}

}  // namespace grader

GRADER_INLINE void __syncwarp(unsigned mask = 0xffffffffu) { grader::warp(grader::WarpOperation::sync, mask, 0); }
GRADER_INLINE unsigned __activemask() { return (unsigned)grader::warp(grader::WarpOperation::active, 0, 0); }

template <class T> GRADER_INLINE T __shfl_sync(unsigned mask, T value, int lane, int width = 32) {
    return grader::from_bits<T>(grader::warp(grader::WarpOperation::shuffle, mask, grader::bits_of(value), lane, width));
}
template <class T> GRADER_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    return grader::from_bits<T>(grader::warp(grader::WarpOperation::shuffle_up, mask, grader::bits_of(value), (int)delta, width));
}
template <class T> GRADER_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    return grader::from_bits<T>(grader::warp(grader::WarpOperation::shuffle_down, mask, grader::bits_of(value), (int)delta, width));
}
template <class T> GRADER_INLINE T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
    return grader::from_bits<T>(grader::warp(grader::WarpOperation::shuffle_xor, mask, grader::bits_of(value), lane_mask, width));
}

GRADER_INLINE unsigned __ballot_sync(unsigned mask, int predicate) {
    return (unsigned)grader::warp(grader::WarpOperation::ballot, mask, predicate != 0);
}
GRADER_INLINE int __any_sync(unsigned mask, int predicate) {
    return (int)grader::warp(grader::WarpOperation::any, mask, predicate != 0);
}
GRADER_INLINE int __all_sync(unsigned mask, int predicate) {
    return (int)grader::warp(grader::WarpOperation::all, mask, predicate != 0);
}
template <class T> GRADER_INLINE unsigned __match_any_sync(unsigned mask, T value) {
    return (unsigned)grader::warp(grader::WarpOperation::match_any, mask, grader::bits_of(value));
}
template <class T> GRADER_INLINE unsigned __match_all_sync(unsigned mask, T value, int* predicate) {
    int all = 0;
    unsigned matched = (unsigned)grader_warp((int)grader::WarpOperation::match_all, mask, grader::bits_of(value), 0, 32, &all);
    *predicate = all;
    return matched;
}

GRADER_INLINE unsigned __reduce_add_sync(unsigned mask, unsigned value) { return (unsigned)grader::warp(grader::WarpOperation::add, mask, value); }
GRADER_INLINE int __reduce_add_sync(unsigned mask, int value) { return (int)grader::warp(grader::WarpOperation::add, mask, (unsigned)value); }
GRADER_INLINE unsigned __reduce_min_sync(unsigned mask, unsigned value) { return (unsigned)grader::warp(grader::WarpOperation::min, mask, value); }
GRADER_INLINE int __reduce_min_sync(unsigned mask, int value) { return (int)grader::warp(grader::WarpOperation::min_signed, mask, (unsigned long long)(long long)value); }
GRADER_INLINE unsigned __reduce_max_sync(unsigned mask, unsigned value) { return (unsigned)grader::warp(grader::WarpOperation::max, mask, value); }
GRADER_INLINE int __reduce_max_sync(unsigned mask, int value) { return (int)grader::warp(grader::WarpOperation::max_signed, mask, (unsigned long long)(long long)value); }
GRADER_INLINE unsigned __reduce_and_sync(unsigned mask, unsigned value) { return (unsigned)grader::warp(grader::WarpOperation::bit_and, mask, value); }
GRADER_INLINE unsigned __reduce_or_sync(unsigned mask, unsigned value) { return (unsigned)grader::warp(grader::WarpOperation::bit_or, mask, value); }
GRADER_INLINE unsigned __reduce_xor_sync(unsigned mask, unsigned value) { return (unsigned)grader::warp(grader::WarpOperation::bit_xor, mask, value); }
