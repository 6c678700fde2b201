// A 16-bit floating-point type and its pair: storage in 16 bits, arithmetic in
// float, one rounding per operation. This agrees with the hardware's +, -, *, /
// and fma on finite numbers: a float holds every product of two such numbers,
// and rounding to float first does not change the second rounding.
//
// Included once for each type, with these macros:
//   GRADER_F GRADER_F2 GRADER_F_RAW      the type, its pair, and its bits as a struct
//   GRADER_F_BITS(float) GRADER_F_VALUE(bits)   the conversions
//   GRADER_F_INFINITY                    the bits of infinity

struct GRADER_F {
    unsigned short bits;

    GRADER_F() = default;
    constexpr GRADER_F(const GRADER_F_RAW& raw) : bits(raw.x) {}
    GRADER_INLINE GRADER_F(float v) : bits(GRADER_F_BITS(v)) {}
    GRADER_INLINE GRADER_F(double v) : bits(GRADER_F_BITS((float)v)) {}
    GRADER_INLINE GRADER_F(int v) : bits(GRADER_F_BITS((float)v)) {}
    GRADER_INLINE GRADER_F(unsigned v) : bits(GRADER_F_BITS((float)v)) {}
    GRADER_INLINE GRADER_F(long long v) : bits(GRADER_F_BITS((float)v)) {}
    GRADER_INLINE GRADER_F(unsigned long long v) : bits(GRADER_F_BITS((float)v)) {}
    GRADER_INLINE operator float() const { return GRADER_F_VALUE(bits); }
    GRADER_INLINE operator GRADER_F_RAW() const { return {bits}; }
    template <class T> GRADER_INLINE GRADER_F& operator=(T v) { bits = GRADER_F(v).bits; return *this; }
    GRADER_INLINE GRADER_F& operator=(const GRADER_F& v) = default;
    GRADER_F(const GRADER_F&) = default;
};

struct alignas(4) GRADER_F2 {
    GRADER_F x, y;

    GRADER_F2() = default;
    GRADER_INLINE GRADER_F2(GRADER_F a, GRADER_F b) : x(a), y(b) {}
};

#define GRADER_F_OPERATOR(op)                                                                                             \
    GRADER_INLINE GRADER_F operator op(const GRADER_F& a, const GRADER_F& b) { return GRADER_F((float)a op (float)b); }   \
    GRADER_INLINE GRADER_F& operator op##=(GRADER_F& a, const GRADER_F& b) { return a = GRADER_F((float)a op (float)b); } \
    GRADER_INLINE GRADER_F2 operator op(const GRADER_F2& a, const GRADER_F2& b) { return {a.x op b.x, a.y op b.y}; }      \
    GRADER_INLINE GRADER_F2& operator op##=(GRADER_F2& a, const GRADER_F2& b) { return a = a op b; }
GRADER_F_OPERATOR(+)
GRADER_F_OPERATOR(-)
GRADER_F_OPERATOR(*)
GRADER_F_OPERATOR(/)
#undef GRADER_F_OPERATOR
GRADER_INLINE GRADER_F operator-(const GRADER_F& a) { return GRADER_F_RAW{(unsigned short)(a.bits ^ 0x8000)}; }
GRADER_INLINE GRADER_F operator+(const GRADER_F& a) { return a; }
GRADER_INLINE GRADER_F2 operator-(const GRADER_F2& a) { return {-a.x, -a.y}; }
#define GRADER_F_COMPARISON(op, name)                                                                     \
    GRADER_INLINE bool operator op(const GRADER_F& a, const GRADER_F& b) { return (float)a op (float)b; } \
    GRADER_INLINE bool __h##name(GRADER_F a, GRADER_F b) { return (float)a op (float)b; }                 \
    GRADER_INLINE GRADER_F2 __h##name##2(GRADER_F2 a, GRADER_F2 b) {                                      \
        return {GRADER_F((a.x op b.x) ? 1.0f : 0.0f), GRADER_F((a.y op b.y) ? 1.0f : 0.0f)};              \
    }                                                                                                     \
    GRADER_INLINE bool __hb##name##2(GRADER_F2 a, GRADER_F2 b) { return (a.x op b.x) && (a.y op b.y); }
GRADER_F_COMPARISON(==, eq)
GRADER_F_COMPARISON(!=, ne)
GRADER_F_COMPARISON(<, lt)
GRADER_F_COMPARISON(<=, le)
GRADER_F_COMPARISON(>, gt)
GRADER_F_COMPARISON(>=, ge)
#undef GRADER_F_COMPARISON

GRADER_INLINE float __low2float(GRADER_F2 v) { return (float)v.x; }
GRADER_INLINE float __high2float(GRADER_F2 v) { return (float)v.y; }

// ---- arithmetic by name ----

#define GRADER_F_BINARY(name, op)                                                     \
    GRADER_INLINE GRADER_F __h##name(GRADER_F a, GRADER_F b) { return a op b; }       \
    GRADER_INLINE GRADER_F __h##name##_rn(GRADER_F a, GRADER_F b) { return a op b; }  \
    GRADER_INLINE GRADER_F2 __h##name##2(GRADER_F2 a, GRADER_F2 b) { return a op b; } \
    GRADER_INLINE GRADER_F2 __h##name##2_rn(GRADER_F2 a, GRADER_F2 b) { return a op b; }
GRADER_F_BINARY(add, +)
GRADER_F_BINARY(sub, -)
GRADER_F_BINARY(mul, *)
#undef GRADER_F_BINARY
GRADER_INLINE GRADER_F __hdiv(GRADER_F a, GRADER_F b) { return a / b; }
GRADER_INLINE GRADER_F2 __h2div(GRADER_F2 a, GRADER_F2 b) { return a / b; }
GRADER_INLINE GRADER_F __hneg(GRADER_F a) { return -a; }
GRADER_INLINE GRADER_F2 __hneg2(GRADER_F2 a) { return -a; }
GRADER_INLINE GRADER_F __habs(GRADER_F a) { return GRADER_F_RAW{(unsigned short)(a.bits & 0x7fff)}; }
GRADER_INLINE GRADER_F2 __habs2(GRADER_F2 a) { return {__habs(a.x), __habs(a.y)}; }
// The product is exact in float, the sum is rounded to float and then to half: the last bit may differ.
GRADER_INLINE GRADER_F __hfma(GRADER_F a, GRADER_F b, GRADER_F c) { return GRADER_F(fmaf((float)a, (float)b, (float)c)); }
GRADER_INLINE GRADER_F2 __hfma2(GRADER_F2 a, GRADER_F2 b, GRADER_F2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }
GRADER_INLINE GRADER_F __hmax(GRADER_F a, GRADER_F b) { return GRADER_F(fmaxf(a, b)); }
GRADER_INLINE GRADER_F __hmin(GRADER_F a, GRADER_F b) { return GRADER_F(fminf(a, b)); }
GRADER_INLINE GRADER_F2 __hmax2(GRADER_F2 a, GRADER_F2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }
GRADER_INLINE GRADER_F2 __hmin2(GRADER_F2 a, GRADER_F2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }
GRADER_INLINE bool __hisnan(GRADER_F a) { return (a.bits & 0x7fff) > GRADER_F_INFINITY; }
GRADER_INLINE int __hisinf(GRADER_F a) { return (a.bits & 0x7fff) == GRADER_F_INFINITY ? (a.bits & 0x8000 ? -1 : 1) : 0; }

#define GRADER_F_FUNCTION(name, expression)                                                          \
    GRADER_INLINE GRADER_F h##name(GRADER_F value) { float x = value; return GRADER_F(expression); } \
    GRADER_INLINE GRADER_F2 h2##name(GRADER_F2 v) { return {h##name(v.x), h##name(v.y)}; }
GRADER_F_FUNCTION(sqrt, sqrtf(x))
GRADER_F_FUNCTION(rsqrt, rsqrtf(x))
GRADER_F_FUNCTION(rcp, 1.0f / x)
GRADER_F_FUNCTION(exp, expf(x))
GRADER_F_FUNCTION(exp2, exp2f(x))
GRADER_F_FUNCTION(exp10, powf(10.0f, x))
GRADER_F_FUNCTION(log, logf(x))
GRADER_F_FUNCTION(log2, log2f(x))
GRADER_F_FUNCTION(log10, log10f(x))
GRADER_F_FUNCTION(sin, sinf(x))
GRADER_F_FUNCTION(cos, cosf(x))
GRADER_F_FUNCTION(tanh, tanhf(x))
GRADER_F_FUNCTION(floor, floorf(x))
GRADER_F_FUNCTION(ceil, ceilf(x))
GRADER_F_FUNCTION(trunc, truncf(x))
GRADER_F_FUNCTION(rint, rintf(x))
#undef GRADER_F_FUNCTION

// ---- atomics ----

GRADER_INLINE GRADER_F atomicAdd(GRADER_F* p, GRADER_F v) {
    grader_atomic(p, sizeof(GRADER_F));
    unsigned short* word = reinterpret_cast<unsigned short*>(p);
    unsigned short seen = __atomic_load_n(word, __ATOMIC_RELAXED), wanted;
    do {
        wanted = (GRADER_F(GRADER_F_RAW{seen}) + v).bits;
    } while (!__atomic_compare_exchange_n(word, &seen, wanted, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return GRADER_F_RAW{seen};
}
GRADER_INLINE GRADER_F2 atomicAdd(GRADER_F2* p, GRADER_F2 v) {
    GRADER_F low = atomicAdd(&p->x, v.x), high = atomicAdd(&p->y, v.y);
    return {low, high};
}

#undef GRADER_F
#undef GRADER_F2
#undef GRADER_F_RAW
#undef GRADER_F_BITS
#undef GRADER_F_VALUE
#undef GRADER_F_INFINITY
