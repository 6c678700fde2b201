// Intrinsics on the bytes and halves of a word (__vadd4 …): each part by itself, in C++.
#pragma once

// The body of a function: statements for each part, which begins at bit `at`. `Part` has 1 or 2 bytes.
#define GRADER_PARTS(Part, ...)                                            \
    constexpr unsigned width = 8 * sizeof(Part), mask = (1u << width) - 1; \
    unsigned result = 0;                                                   \
    for (unsigned at = 0; at < 32; at += width) { __VA_ARGS__ }            \
    return result;
#define GRADER_SIMD(name, Part, expression)                                \
    GRADER_INLINE unsigned name(unsigned a, unsigned b) {                  \
        GRADER_PARTS(Part, const int x = (Part)(a >> at), y = (Part)(b >> at); \
                     result |= ((unsigned)(expression) & mask) << at;)     \
    }
#define GRADER_SIMD_OF_ONE(name, Part, expression)                         \
    GRADER_INLINE unsigned name(unsigned a) {                              \
        GRADER_PARTS(Part, const int x = (Part)(a >> at);                  \
                     result |= ((unsigned)(expression) & mask) << at;)     \
    }
#define GRADER_SIMD_SUM_OF_DIFFERENCES(name, Part)                         \
    GRADER_INLINE unsigned name(unsigned a, unsigned b) {                  \
        GRADER_PARTS(Part, const int x = (Part)(a >> at), y = (Part)(b >> at); \
                     result += (unsigned)(x < y ? y - x : x - y);)         \
    }
#define GRADER_LIMITED(value, low, high) ((value) < (low) ? (low) : (value) > (high) ? (high) : (value))
#define GRADER_SIMD_COMPARISON(name, count, Part, op)                 \
    GRADER_SIMD(__vcmp##name##count, Part, x op y ? -1 : 0)           \
    GRADER_SIMD(__vset##name##count, Part, x op y ? 1 : 0)
#define GRADER_SIMD_SIZE(count, Signed, Unsigned, least, most)                             \
    GRADER_SIMD(__vadd##count, Unsigned, x + y)                                            \
    GRADER_SIMD(__vsub##count, Unsigned, x - y)                                            \
    GRADER_SIMD(__vaddss##count, Signed, GRADER_LIMITED(x + y, least, most))               \
    GRADER_SIMD(__vsubss##count, Signed, GRADER_LIMITED(x - y, least, most))               \
    GRADER_SIMD(__vaddus##count, Unsigned, GRADER_LIMITED(x + y, 0, most - least))         \
    GRADER_SIMD(__vsubus##count, Unsigned, GRADER_LIMITED(x - y, 0, most - least))         \
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
    GRADER_SIMD_OF_ONE(__vabs##count, Signed, x < 0 ? -x : x)                              \
    GRADER_SIMD_OF_ONE(__vneg##count, Signed, -x)                                          \
    GRADER_SIMD_OF_ONE(__vabsss##count, Signed, x == least ? most : x < 0 ? -x : x)        \
    GRADER_SIMD_SUM_OF_DIFFERENCES(__vsadu##count, Unsigned)                                              \
    GRADER_SIMD_SUM_OF_DIFFERENCES(__vsads##count, Signed)
GRADER_SIMD_SIZE(2, short, unsigned short, -32768, 32767)
GRADER_SIMD_SIZE(4, signed char, unsigned char, -128, 127)
#undef GRADER_SIMD_SIZE
#undef GRADER_SIMD_COMPARISON
#undef GRADER_LIMITED
#undef GRADER_SIMD_SUM_OF_DIFFERENCES
#undef GRADER_SIMD_OF_ONE
#undef GRADER_SIMD
#undef GRADER_PARTS
