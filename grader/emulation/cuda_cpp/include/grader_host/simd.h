// Intrinsics on the bytes and halves of a word (__vadd4 …): each part by itself, in C++.
#pragma once

namespace grader {

// Applies an operation to each part of two words. `Part` is a type of 1 or 2 bytes.
template <class Part, class Operation> GRADER_INLINE unsigned each_part(unsigned a, unsigned b, Operation operation) {
    constexpr unsigned width = 8 * sizeof(Part), mask = (1u << width) - 1;
    unsigned result = 0;
    for (unsigned at = 0; at < 32; at += width)
        result |= ((unsigned)operation((int)(Part)(a >> at & mask), (int)(Part)(b >> at & mask)) & mask) << at;
    return result;
}
template <class Part> GRADER_INLINE int limited(int value) {
    constexpr bool is_signed = (Part)-1 < (Part)0;
    constexpr int most = is_signed ? (1 << (8 * sizeof(Part) - 1)) - 1 : (1 << 8 * sizeof(Part)) - 1;
    constexpr int least = is_signed ? -most - 1 : 0;
    return value < least ? least : value > most ? most : value;
}
template <class Part> GRADER_INLINE unsigned sum_of_differences(unsigned a, unsigned b) {
    constexpr unsigned width = 8 * sizeof(Part), mask = (1u << width) - 1;
    unsigned sum = 0;
    for (unsigned at = 0; at < 32; at += width) {
        const int x = (int)(Part)(a >> at & mask), y = (int)(Part)(b >> at & mask);
        sum += (unsigned)(x < y ? y - x : x - y);
    }
    return sum;
}

}  // namespace grader

#define GRADER_SIMD(name, Part, expression)                                                             \
    GRADER_INLINE unsigned name(unsigned a, unsigned b) {                                               \
        return grader::each_part<Part>(a, b, [](int x, int y) { (void)x, (void)y; return expression; }); \
    }
#define GRADER_SIMD_COMPARISON(name, count, Part, op)                 \
    GRADER_SIMD(__vcmp##name##count, Part, x op y ? -1 : 0)           \
    GRADER_SIMD(__vset##name##count, Part, x op y ? 1 : 0)
#define GRADER_SIMD_SIZE(count, Signed, Unsigned)                                          \
    GRADER_SIMD(__vadd##count, Unsigned, x + y)                                            \
    GRADER_SIMD(__vsub##count, Unsigned, x - y)                                            \
    GRADER_SIMD(__vaddss##count, Signed, grader::limited<Signed>(x + y))                   \
    GRADER_SIMD(__vsubss##count, Signed, grader::limited<Signed>(x - y))                   \
    GRADER_SIMD(__vaddus##count, Unsigned, grader::limited<Unsigned>(x + y))               \
    GRADER_SIMD(__vsubus##count, Unsigned, grader::limited<Unsigned>(x - y))               \
    GRADER_SIMD(__vmaxs##count, Signed, x < y ? y : x)                                     \
    GRADER_SIMD(__vmins##count, Signed, y < x ? y : x)                                     \
    GRADER_SIMD(__vmaxu##count, Unsigned, x < y ? y : x)                                   \
    GRADER_SIMD(__vminu##count, Unsigned, y < x ? y : x)                                   \
    GRADER_SIMD(__vavgs##count, Signed, (x + y + (x + y >= 0)) >> 1)                       \
    GRADER_SIMD(__vavgu##count, Unsigned, (x + y + 1) >> 1)                                \
    GRADER_SIMD(__vhaddu##count, Unsigned, (x + y) >> 1)                                   \
    GRADER_SIMD(__vabsdiffu##count, Unsigned, x < y ? y - x : x - y)                       \
    GRADER_SIMD(__vabsdiffs##count, Signed, x < y ? y - x : x - y)                         \
    GRADER_SIMD_COMPARISON(eq, count, Unsigned, ==)                                        \
    GRADER_SIMD_COMPARISON(ne, count, Unsigned, !=)                                        \
    GRADER_SIMD_COMPARISON(gtu, count, Unsigned, >)                                        \
    GRADER_SIMD_COMPARISON(geu, count, Unsigned, >=)                                       \
    GRADER_SIMD_COMPARISON(ltu, count, Unsigned, <)                                        \
    GRADER_SIMD_COMPARISON(leu, count, Unsigned, <=)                                       \
    GRADER_SIMD_COMPARISON(gts, count, Signed, >)                                          \
    GRADER_SIMD_COMPARISON(ges, count, Signed, >=)                                         \
    GRADER_SIMD_COMPARISON(lts, count, Signed, <)                                          \
    GRADER_SIMD_COMPARISON(les, count, Signed, <=)                                         \
    GRADER_INLINE unsigned __vabs##count(unsigned a) { return grader::each_part<Signed>(a, 0, [](int x, int) { return x < 0 ? -x : x; }); } \
    GRADER_INLINE unsigned __vneg##count(unsigned a) { return grader::each_part<Signed>(a, 0, [](int x, int) { return -x; }); } \
    GRADER_INLINE unsigned __vabsss##count(unsigned a) {                                   \
        return grader::each_part<Signed>(a, 0, [](int x, int) { return grader::limited<Signed>(x < 0 ? -x : x); }); \
    }                                                                                      \
    GRADER_INLINE unsigned __vsadu##count(unsigned a, unsigned b) { return grader::sum_of_differences<Unsigned>(a, b); } \
    GRADER_INLINE unsigned __vsads##count(unsigned a, unsigned b) { return grader::sum_of_differences<Signed>(a, b); }
GRADER_SIMD_SIZE(2, short, unsigned short)
GRADER_SIMD_SIZE(4, signed char, unsigned char)
#undef GRADER_SIMD_SIZE
#undef GRADER_SIMD_COMPARISON
#undef GRADER_SIMD
