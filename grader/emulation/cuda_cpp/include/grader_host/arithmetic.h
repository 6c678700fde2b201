// Arithmetic that CUDA C++ adds to C++: min/max in the global
// namespace, intrinsics with a rounding mode, fast-math names, bit twiddling,
// type punning. Fast-math names are the accurate functions here: results
// differ from a GPU's in the last bits.
#pragma once

// ---- min, max: ordinary functions, which are preferred to std's templates ----

#define GRADER_MIN_MAX(T)                                          \
    GRADER_INLINE constexpr T min(T a, T b) { return b < a ? b : a; } \
    GRADER_INLINE constexpr T max(T a, T b) { return a < b ? b : a; }
GRADER_MIN_MAX(int)
GRADER_MIN_MAX(unsigned int)
GRADER_MIN_MAX(long)
GRADER_MIN_MAX(unsigned long)
GRADER_MIN_MAX(long long)
GRADER_MIN_MAX(unsigned long long)
#undef GRADER_MIN_MAX
GRADER_INLINE float min(float a, float b) { return fminf(a, b); }
GRADER_INLINE float max(float a, float b) { return fmaxf(a, b); }
GRADER_INLINE double min(double a, double b) { return fmin(a, b); }
GRADER_INLINE double max(double a, double b) { return fmax(a, b); }
GRADER_INLINE double min(float a, double b) { return fmin(a, b); }
GRADER_INLINE double min(double a, float b) { return fmin(a, b); }
GRADER_INLINE double max(float a, double b) { return fmax(a, b); }
GRADER_INLINE double max(double a, float b) { return fmax(a, b); }
GRADER_INLINE constexpr unsigned min(int a, unsigned b) { return min((unsigned)a, b); }
GRADER_INLINE constexpr unsigned min(unsigned a, int b) { return min(a, (unsigned)b); }
GRADER_INLINE constexpr unsigned max(int a, unsigned b) { return max((unsigned)a, b); }
GRADER_INLINE constexpr unsigned max(unsigned a, int b) { return max(a, (unsigned)b); }
GRADER_INLINE constexpr long min(int a, long b) { return min((long)a, b); }
GRADER_INLINE constexpr long min(long a, int b) { return min(a, (long)b); }
GRADER_INLINE constexpr long max(int a, long b) { return max((long)a, b); }
GRADER_INLINE constexpr long max(long a, int b) { return max(a, (long)b); }
GRADER_INLINE constexpr unsigned long min(unsigned a, unsigned long b) { return min((unsigned long)a, b); }
GRADER_INLINE constexpr unsigned long min(unsigned long a, unsigned b) { return min(a, (unsigned long)b); }
GRADER_INLINE constexpr unsigned long max(unsigned a, unsigned long b) { return max((unsigned long)a, b); }
GRADER_INLINE constexpr unsigned long max(unsigned long a, unsigned b) { return max(a, (unsigned long)b); }
GRADER_INLINE constexpr unsigned long min(int a, unsigned long b) { return min((unsigned long)a, b); }
GRADER_INLINE constexpr unsigned long min(unsigned long a, int b) { return min(a, (unsigned long)b); }
GRADER_INLINE constexpr unsigned long max(int a, unsigned long b) { return max((unsigned long)a, b); }
GRADER_INLINE constexpr unsigned long max(unsigned long a, int b) { return max(a, (unsigned long)b); }
GRADER_INLINE unsigned umin(unsigned a, unsigned b) { return min(a, b); }
GRADER_INLINE unsigned umax(unsigned a, unsigned b) { return max(a, b); }
GRADER_INLINE long long llmin(long long a, long long b) { return min(a, b); }
GRADER_INLINE unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
GRADER_INLINE unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }
GRADER_INLINE long long llmax(long long a, long long b) { return max(a, b); }

// ---- names of CUDA's math library that libm lacks ----

GRADER_INLINE float rsqrtf(float x) { return 1.0f / sqrtf(x); }
GRADER_INLINE double rsqrt(double x) { return 1.0 / sqrt(x); }
GRADER_INLINE float rsqrt(float x) { return rsqrtf(x); }
GRADER_INLINE float rcbrtf(float x) { return 1.0f / cbrtf(x); }
GRADER_INLINE double rcbrt(double x) { return 1.0 / cbrt(x); }
GRADER_INLINE float rhypotf(float x, float y) { return 1.0f / hypotf(x, y); }
GRADER_INLINE float norm3df(float x, float y, float z) { return sqrtf(x * x + y * y + z * z); }
GRADER_INLINE float norm4df(float x, float y, float z, float w) { return sqrtf(x * x + y * y + z * z + w * w); }
GRADER_INLINE float rnorm3df(float x, float y, float z) { return 1.0f / norm3df(x, y, z); }
GRADER_INLINE float fdividef(float x, float y) { return x / y; }
GRADER_INLINE float sinpif(float x) { return sinf(x * 3.14159265358979323846f); }
GRADER_INLINE float cospif(float x) { return cosf(x * 3.14159265358979323846f); }
GRADER_INLINE double sinpi(double x) { return sin(x * 3.14159265358979323846); }
GRADER_INLINE double cospi(double x) { return cos(x * 3.14159265358979323846); }
GRADER_INLINE void sincospif(float x, float* s, float* c) { *s = sinpif(x); *c = cospif(x); }
GRADER_INLINE float normcdff(float x) { return 0.5f * erfcf(-x * 0.70710678118654752f); }
GRADER_INLINE double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752); }
GRADER_INLINE float erfcxf(float x) { return expf(x * x) * erfcf(x); }
GRADER_INLINE float __saturatef(float x) { return x != x ? 0.0f : fminf(fmaxf(x, 0.0f), 1.0f); }

GRADER_INLINE double rhypot(double x, double y) { return 1.0 / hypot(x, y); }
GRADER_INLINE double norm3d(double x, double y, double z) { return sqrt(x * x + y * y + z * z); }
GRADER_INLINE double norm4d(double x, double y, double z, double w) { return sqrt(x * x + y * y + z * z + w * w); }
GRADER_INLINE double rnorm3d(double x, double y, double z) { return 1.0 / norm3d(x, y, z); }
GRADER_INLINE double rnorm4d(double x, double y, double z, double w) { return 1.0 / norm4d(x, y, z, w); }
GRADER_INLINE float rnorm4df(float x, float y, float z, float w) { return 1.0f / norm4df(x, y, z, w); }
GRADER_INLINE double erfcx(double x) { return exp(x * x) * erfc(x); }
GRADER_INLINE void sincospi(double x, double* s, double* c) { *s = sinpi(x); *c = cospi(x); }
namespace grader {
// The inverse of erf: a start by Winitzki's formula, then Newton's method.
inline double inverse_erf(double y) {
    if (y <= -1 || y >= 1) return y == 1 ? INFINITY : y == -1 ? -INFINITY : NAN;
    const double l = log(1 - y * y), h = 2 / (3.14159265358979323846 * 0.147) + l / 2;
    double x = copysign(sqrt(sqrt(h * h - l / 0.147) - h), y);
    for (int i = 0; i < 4; ++i) x -= (erf(x) - y) / (1.12837916709551257390 * exp(-x * x));
    return x;
}
inline double inverse_erfc(double y) {
    if (y > 0.0625) return inverse_erf(1 - y);
    if (y <= 0) return y == 0 ? INFINITY : NAN;
    double x = sqrt(-log(y));
    for (int i = 0; i < 12; ++i) x += (erfc(x) - y) / (1.12837916709551257390 * exp(-x * x));
    return x;
}
}  // namespace grader
GRADER_INLINE double erfinv(double y) { return grader::inverse_erf(y); }
GRADER_INLINE float erfinvf(float y) { return (float)grader::inverse_erf(y); }
GRADER_INLINE double erfcinv(double y) { return grader::inverse_erfc(y); }
GRADER_INLINE float erfcinvf(float y) { return (float)grader::inverse_erfc(y); }
GRADER_INLINE double normcdfinv(double y) { return -1.41421356237309504880 * grader::inverse_erfc(2 * y); }
GRADER_INLINE float normcdfinvf(float y) { return (float)normcdfinv(y); }

// ---- fast-math names ----

GRADER_INLINE float __expf(float x) { return expf(x); }
GRADER_INLINE float __exp10f(float x) { return powf(10.0f, x); }
GRADER_INLINE float __logf(float x) { return logf(x); }
GRADER_INLINE float __log2f(float x) { return log2f(x); }
GRADER_INLINE float __log10f(float x) { return log10f(x); }
GRADER_INLINE float __powf(float x, float y) { return powf(x, y); }
GRADER_INLINE float __sinf(float x) { return sinf(x); }
GRADER_INLINE float __cosf(float x) { return cosf(x); }
GRADER_INLINE float __tanf(float x) { return tanf(x); }
GRADER_INLINE float __tanhf(float x) { return tanhf(x); }
GRADER_INLINE void __sincosf(float x, float* s, float* c) { *s = sinf(x); *c = cosf(x); }
GRADER_INLINE float __fdividef(float x, float y) { return x / y; }
GRADER_INLINE float __frsqrt_rn(float x) { return 1.0f / sqrtf(x); }

// ---- one operation, one rounding ----

// A value that no compiler merges with the operation before or after it (-ffp-contract=fast).
#ifdef GRADER_CONTRACT
template <class T> GRADER_INLINE T grader_once(T value) {
#if defined(__x86_64__)
    __asm__("" : "+x"(value));
#else
    __asm__("" : "+w"(value));
#endif
    return value;
}
#else
template <class T> GRADER_INLINE T grader_once(T value) { return value; }
#endif

#define GRADER_ROUNDED(suffix)                                                                                        \
    GRADER_INLINE float __fadd_##suffix(float a, float b) { return grader_once(grader_once(a) + grader_once(b)); }    \
    GRADER_INLINE float __fsub_##suffix(float a, float b) { return grader_once(grader_once(a) - grader_once(b)); }    \
    GRADER_INLINE float __fmul_##suffix(float a, float b) { return grader_once(grader_once(a) * grader_once(b)); }    \
    GRADER_INLINE float __fdiv_##suffix(float a, float b) { return a / b; }                                           \
    GRADER_INLINE float __fmaf_##suffix(float a, float b, float c) { return fmaf(a, b, c); }                          \
    GRADER_INLINE float __frcp_##suffix(float a) { return 1.0f / a; }                                                 \
    GRADER_INLINE float __fsqrt_##suffix(float a) { return sqrtf(a); }                                                \
    GRADER_INLINE double __dadd_##suffix(double a, double b) { return grader_once(grader_once(a) + grader_once(b)); } \
    GRADER_INLINE double __dsub_##suffix(double a, double b) { return grader_once(grader_once(a) - grader_once(b)); } \
    GRADER_INLINE double __dmul_##suffix(double a, double b) { return grader_once(grader_once(a) * grader_once(b)); } \
    GRADER_INLINE double __ddiv_##suffix(double a, double b) { return a / b; }                                        \
    GRADER_INLINE double __fma_##suffix(double a, double b, double c) { return fma(a, b, c); }                        \
    GRADER_INLINE double __drcp_##suffix(double a) { return 1.0 / a; }                                                \
    GRADER_INLINE double __dsqrt_##suffix(double a) { return sqrt(a); }
GRADER_ROUNDED(rn)
GRADER_ROUNDED(rz)
GRADER_ROUNDED(ru)
GRADER_ROUNDED(rd)
#undef GRADER_ROUNDED

// ---- integers and bits ----

GRADER_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
GRADER_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
GRADER_INLINE int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned)x); }
GRADER_INLINE int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
GRADER_INLINE int __ffs(int x) { return __builtin_ffs(x); }
GRADER_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
GRADER_INLINE unsigned __brev(unsigned x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
GRADER_INLINE unsigned long long __brevll(unsigned long long x) {
    return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
GRADER_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    unsigned long long both = (unsigned long long)y << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) {
        unsigned choice = selector >> (4 * i);
        unsigned byte = (unsigned)(both >> (8 * (choice & 7))) & 0xff;
        if (choice & 8) byte = byte & 0x80 ? 0xff : 0;
        result |= byte << (8 * i);
    }
    return result;
}
GRADER_INLINE unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned shift) {
    return (unsigned)((((unsigned long long)hi << 32 | lo) << (shift & 31)) >> 32);
}
GRADER_INLINE unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned shift) {
    return (unsigned)(((unsigned long long)hi << 32 | lo) >> (shift & 31));
}
GRADER_INLINE unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned shift) {
    return shift < 32 ? __funnelshift_l(lo, hi, shift) : lo;
}
GRADER_INLINE unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned shift) {
    return shift < 32 ? __funnelshift_r(lo, hi, shift) : hi;
}
GRADER_INLINE int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
GRADER_INLINE unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a * b) >> 32); }
GRADER_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
GRADER_INLINE long long __mul64hi(long long a, long long b) { return (long long)(((__int128)a * b) >> 64); }
GRADER_INLINE int __mul24(int a, int b) { return (int)((unsigned)((a << 8) >> 8) * (unsigned)((b << 8) >> 8)); }
GRADER_INLINE unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
GRADER_INLINE int __hadd(int a, int b) { return (int)(((long long)a + b) >> 1); }
GRADER_INLINE int __rhadd(int a, int b) { return (int)(((long long)a + b + 1) >> 1); }
GRADER_INLINE unsigned __uhadd(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b) >> 1); }
GRADER_INLINE unsigned __urhadd(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a + b + 1) >> 1); }
GRADER_INLINE unsigned __sad(int a, int b, unsigned c) { return c + (unsigned)(a < b ? b - a : a - b); }
GRADER_INLINE unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a < b ? b - a : a - b); }
GRADER_INLINE int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 4; ++i) c += (int)(signed char)(a >> (8 * i)) * (int)(signed char)(b >> (8 * i));
    return c;
}

GRADER_INLINE unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int i = 0; i < 4; ++i) c += (a >> (8 * i) & 255) * (b >> (8 * i) & 255);
    return c;
}
// The n-th set bit from a base on, upwards (n > 0) or downwards (n < 0).
GRADER_INLINE unsigned __fns(unsigned mask, unsigned base, int n) {
    if (n == 0) return mask >> (base & 31) & 1 ? base : 0xffffffffu;
    for (int at = (int)base, left = n; at >= 0 && at < 32; at += n > 0 ? 1 : -1)
        if (mask >> at & 1 && (left += n > 0 ? -1 : 1) == 0) return (unsigned)at;
    return 0xffffffffu;
}

// ---- conversions and punning ----

GRADER_INLINE int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
GRADER_INLINE unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
GRADER_INLINE float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
GRADER_INLINE float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
GRADER_INLINE long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
GRADER_INLINE double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
GRADER_INLINE int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
GRADER_INLINE int __double2loint(double x) { return (int)__double_as_longlong(x); }
GRADER_INLINE double __hiloint2double(int hi, int lo) {
    return __longlong_as_double((long long)((unsigned long long)(unsigned)hi << 32 | (unsigned)lo));
}

namespace grader {
// A GPU's conversion to an integer clamps and turns NaN into 0; C++ leaves it undefined.
template <class I> GRADER_INLINE I clamped(double x, double low, double high, I lowest, I highest) {
    if (x != x) return 0;
    if (x <= low) return lowest;
    if (x >= high) return highest;
    return (I)x;
}
GRADER_INLINE int to_int(double x) { return clamped<int>(x, -2147483648.0, 2147483647.0, (-2147483647 - 1), 2147483647); }
GRADER_INLINE unsigned to_uint(double x) { return clamped<unsigned>(x, 0.0, 4294967295.0, 0u, 4294967295u); }
GRADER_INLINE long long to_longlong(double x) {
    return clamped<long long>(x, -9223372036854775808.0, 9223372036854775807.0, (-9223372036854775807LL - 1), 9223372036854775807LL);
}
}  // namespace grader

namespace grader {
GRADER_INLINE unsigned long long to_ulonglong(double x) {
    return clamped<unsigned long long>(x, 0.0, 18446744073709551615.0, 0ull, 18446744073709551615ull);
}
}  // namespace grader

#define GRADER_CONVERSIONS(suffix, rounding)                                                   \
    GRADER_INLINE int __float2int_##suffix(float x) { return grader::to_int(rounding((double)x)); }      \
    GRADER_INLINE unsigned __float2uint_##suffix(float x) { return grader::to_uint(rounding((double)x)); } \
    GRADER_INLINE long long __float2ll_##suffix(float x) { return grader::to_longlong(rounding((double)x)); } \
    GRADER_INLINE int __double2int_##suffix(double x) { return grader::to_int(rounding(x)); }  \
    GRADER_INLINE unsigned __double2uint_##suffix(double x) { return grader::to_uint(rounding(x)); } \
    GRADER_INLINE long long __double2ll_##suffix(double x) { return grader::to_longlong(rounding(x)); } \
    GRADER_INLINE unsigned long long __float2ull_##suffix(float x) { return grader::to_ulonglong(rounding((double)x)); } \
    GRADER_INLINE unsigned long long __double2ull_##suffix(double x) { return grader::to_ulonglong(rounding(x)); } \
    GRADER_INLINE float __ull2float_##suffix(unsigned long long x) { return (float)x; }        \
    GRADER_INLINE double __ull2double_##suffix(unsigned long long x) { return (double)x; }     \
    GRADER_INLINE double __ll2double_##suffix(long long x) { return (double)x; }               \
    GRADER_INLINE float __int2float_##suffix(int x) { return (float)x; }                       \
    GRADER_INLINE float __uint2float_##suffix(unsigned x) { return (float)x; }                 \
    GRADER_INLINE float __ll2float_##suffix(long long x) { return (float)x; }                  \
    GRADER_INLINE float __double2float_##suffix(double x) { return (float)x; }
GRADER_CONVERSIONS(rn, rint)
GRADER_CONVERSIONS(rz, trunc)
GRADER_CONVERSIONS(ru, ceil)
GRADER_CONVERSIONS(rd, floor)
#undef GRADER_CONVERSIONS
GRADER_INLINE double __int2double_rn(int x) { return x; }
GRADER_INLINE double __uint2double_rn(unsigned x) { return x; }

// ---- loads and stores with a cache hint: plain loads and stores here ----

#define GRADER_LOAD(name) template <class T> GRADER_INLINE T name(const T* address) { return *address; }
GRADER_LOAD(__ldg)
GRADER_LOAD(__ldcg)
GRADER_LOAD(__ldca)
GRADER_LOAD(__ldcs)
GRADER_LOAD(__ldlu)
GRADER_LOAD(__ldcv)
#undef GRADER_LOAD
// As with CUDA's overloads, the value is converted to the type of the address.
namespace grader {
template <class T> struct Itself { typedef T type; };
}  // namespace grader
#define GRADER_STORE(name) \
    template <class T> GRADER_INLINE void name(T* address, typename grader::Itself<T>::type value) { *address = value; }
GRADER_STORE(__stcg)
GRADER_STORE(__stcs)
GRADER_STORE(__stwb)
GRADER_STORE(__stwt)
#undef GRADER_STORE
