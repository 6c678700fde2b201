// Operations on a floating type of 16 bits and on pairs of it: half and bfloat16, by turns.
//
// The including header defines GRADER_TYPE, GRADER_PAIR, GRADER_RAW and GRADER_INFINITY (its bits).
// Arithmetic is in float, with one rounding per operation. For half this agrees with the hardware's
// +, -, *, / and fma on finite numbers; the last bit of a fma may differ, because the sum is
// rounded to float first.

#define GRADER_HALF_OPERATOR(op)                                                                                  \
    GRADER_INLINE GRADER_TYPE operator op(const GRADER_TYPE& a, const GRADER_TYPE& b) { return GRADER_TYPE((float)a op (float)b); }   \
    GRADER_INLINE GRADER_TYPE& operator op##=(GRADER_TYPE& a, const GRADER_TYPE& b) { return a = GRADER_TYPE((float)a op (float)b); } \
    GRADER_INLINE GRADER_PAIR operator op(const GRADER_PAIR& a, const GRADER_PAIR& b) { return {a.x op b.x, a.y op b.y}; }    \
    GRADER_INLINE GRADER_PAIR& operator op##=(GRADER_PAIR& a, const GRADER_PAIR& b) { return a = a op b; }
GRADER_HALF_OPERATOR(+)
GRADER_HALF_OPERATOR(-)
GRADER_HALF_OPERATOR(*)
GRADER_HALF_OPERATOR(/)
#undef GRADER_HALF_OPERATOR
GRADER_INLINE GRADER_TYPE operator-(const GRADER_TYPE& a) { return GRADER_RAW{(unsigned short)(a.bits ^ 0x8000)}; }
GRADER_INLINE GRADER_TYPE operator+(const GRADER_TYPE& a) { return a; }
GRADER_INLINE GRADER_PAIR operator-(const GRADER_PAIR& a) { return {-a.x, -a.y}; }
#define GRADER_HALF_COMPARISON(op, name)                                                                       \
    GRADER_INLINE bool operator op(const GRADER_TYPE& a, const GRADER_TYPE& b) { return (float)a op (float)b; }          \
    GRADER_INLINE bool __h##name(GRADER_TYPE a, GRADER_TYPE b) { return (float)a op (float)b; }                          \
    GRADER_INLINE GRADER_PAIR __h##name##2(GRADER_PAIR a, GRADER_PAIR b) {                                                 \
        return {GRADER_TYPE((a.x op b.x) ? 1.0f : 0.0f), GRADER_TYPE((a.y op b.y) ? 1.0f : 0.0f)};                       \
    }                                                                                                          \
    GRADER_INLINE bool __hb##name##2(GRADER_PAIR a, GRADER_PAIR b) { return (a.x op b.x) && (a.y op b.y); }
GRADER_HALF_COMPARISON(==, eq)
GRADER_HALF_COMPARISON(!=, ne)
GRADER_HALF_COMPARISON(<, lt)
GRADER_HALF_COMPARISON(<=, le)
GRADER_HALF_COMPARISON(>, gt)
GRADER_HALF_COMPARISON(>=, ge)
#undef GRADER_HALF_COMPARISON

// ---- arithmetic by name ----

#define GRADER_HALF_BINARY(name, op)                                              \
    GRADER_INLINE GRADER_TYPE __h##name(GRADER_TYPE a, GRADER_TYPE b) { return a op b; }         \
    GRADER_INLINE GRADER_TYPE __h##name##_rn(GRADER_TYPE a, GRADER_TYPE b) { return a op b; }    \
    GRADER_INLINE GRADER_PAIR __h##name##2(GRADER_PAIR a, GRADER_PAIR b) { return a op b; }   \
    GRADER_INLINE GRADER_PAIR __h##name##2_rn(GRADER_PAIR a, GRADER_PAIR b) { return a op b; }
GRADER_HALF_BINARY(add, +)
GRADER_HALF_BINARY(sub, -)
GRADER_HALF_BINARY(mul, *)
#undef GRADER_HALF_BINARY
GRADER_INLINE GRADER_TYPE __hdiv(GRADER_TYPE a, GRADER_TYPE b) { return a / b; }
GRADER_INLINE GRADER_PAIR __h2div(GRADER_PAIR a, GRADER_PAIR b) { return a / b; }
GRADER_INLINE GRADER_TYPE __hneg(GRADER_TYPE a) { return -a; }
GRADER_INLINE GRADER_PAIR __hneg2(GRADER_PAIR a) { return -a; }
GRADER_INLINE GRADER_TYPE __habs(GRADER_TYPE a) { return GRADER_RAW{(unsigned short)(a.bits & 0x7fff)}; }
GRADER_INLINE GRADER_PAIR __habs2(GRADER_PAIR a) { return {__habs(a.x), __habs(a.y)}; }
// The product is exact in float, the sum is rounded to float and then to half: the last bit may differ.
GRADER_INLINE GRADER_TYPE __hfma(GRADER_TYPE a, GRADER_TYPE b, GRADER_TYPE c) { return GRADER_TYPE(fmaf((float)a, (float)b, (float)c)); }
GRADER_INLINE GRADER_PAIR __hfma2(GRADER_PAIR a, GRADER_PAIR b, GRADER_PAIR c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }
GRADER_INLINE GRADER_TYPE __hmax(GRADER_TYPE a, GRADER_TYPE b) { return GRADER_TYPE(fmaxf(a, b)); }
GRADER_INLINE GRADER_TYPE __hmin(GRADER_TYPE a, GRADER_TYPE b) { return GRADER_TYPE(fminf(a, b)); }
GRADER_INLINE GRADER_PAIR __hmax2(GRADER_PAIR a, GRADER_PAIR b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }
GRADER_INLINE GRADER_PAIR __hmin2(GRADER_PAIR a, GRADER_PAIR b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }
GRADER_INLINE bool __hisnan(GRADER_TYPE a) { return (a.bits & 0x7fff) > GRADER_INFINITY; }
GRADER_INLINE int __hisinf(GRADER_TYPE a) { return (a.bits & 0x7fff) == GRADER_INFINITY ? (a.bits & 0x8000 ? -1 : 1) : 0; }


GRADER_INLINE GRADER_TYPE __hadd_sat(GRADER_TYPE a, GRADER_TYPE b) { return GRADER_TYPE(__saturatef((float)a + (float)b)); }
GRADER_INLINE GRADER_TYPE __hsub_sat(GRADER_TYPE a, GRADER_TYPE b) { return GRADER_TYPE(__saturatef((float)a - (float)b)); }
GRADER_INLINE GRADER_TYPE __hmul_sat(GRADER_TYPE a, GRADER_TYPE b) { return GRADER_TYPE(__saturatef((float)a * (float)b)); }
GRADER_INLINE GRADER_TYPE __hfma_sat(GRADER_TYPE a, GRADER_TYPE b, GRADER_TYPE c) {
    return GRADER_TYPE(__saturatef(fmaf((float)a, (float)b, (float)c)));
}
GRADER_INLINE GRADER_TYPE __hfma_relu(GRADER_TYPE a, GRADER_TYPE b, GRADER_TYPE c) {
    return GRADER_TYPE(fmaxf(fmaf((float)a, (float)b, (float)c), 0.0f));
}
GRADER_INLINE GRADER_PAIR __hadd2_sat(GRADER_PAIR a, GRADER_PAIR b) { return {__hadd_sat(a.x, b.x), __hadd_sat(a.y, b.y)}; }
GRADER_INLINE GRADER_PAIR __hsub2_sat(GRADER_PAIR a, GRADER_PAIR b) { return {__hsub_sat(a.x, b.x), __hsub_sat(a.y, b.y)}; }
GRADER_INLINE GRADER_PAIR __hmul2_sat(GRADER_PAIR a, GRADER_PAIR b) { return {__hmul_sat(a.x, b.x), __hmul_sat(a.y, b.y)}; }
GRADER_INLINE GRADER_PAIR __hfma2_sat(GRADER_PAIR a, GRADER_PAIR b, GRADER_PAIR c) {
    return {__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)};
}
GRADER_INLINE GRADER_PAIR __hfma2_relu(GRADER_PAIR a, GRADER_PAIR b, GRADER_PAIR c) {
    return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)};
}
GRADER_INLINE GRADER_TYPE __hmax_nan(GRADER_TYPE a, GRADER_TYPE b) { return __hisnan(a) || __hisnan(b) ? GRADER_TYPE(NAN) : __hmax(a, b); }
GRADER_INLINE GRADER_TYPE __hmin_nan(GRADER_TYPE a, GRADER_TYPE b) { return __hisnan(a) || __hisnan(b) ? GRADER_TYPE(NAN) : __hmin(a, b); }
GRADER_INLINE GRADER_TYPE& operator++(GRADER_TYPE& a) { return a = GRADER_TYPE((float)a + 1.0f); }
GRADER_INLINE GRADER_TYPE& operator--(GRADER_TYPE& a) { return a = GRADER_TYPE((float)a - 1.0f); }
GRADER_INLINE bool operator==(const GRADER_PAIR& a, const GRADER_PAIR& b) { return a.x == b.x && a.y == b.y; }
GRADER_INLINE bool operator!=(const GRADER_PAIR& a, const GRADER_PAIR& b) { return !(a == b); }

#define GRADER_HALF_FUNCTION(name, expression)                                                \
    GRADER_INLINE GRADER_TYPE h##name(GRADER_TYPE value) { float x = value; return GRADER_TYPE(expression); } \
    GRADER_INLINE GRADER_PAIR h2##name(GRADER_PAIR v) { return {h##name(v.x), h##name(v.y)}; }
GRADER_HALF_FUNCTION(sqrt, sqrtf(x))
GRADER_HALF_FUNCTION(rsqrt, rsqrtf(x))
GRADER_HALF_FUNCTION(rcp, 1.0f / x)
GRADER_HALF_FUNCTION(exp, expf(x))
GRADER_HALF_FUNCTION(exp2, exp2f(x))
GRADER_HALF_FUNCTION(exp10, powf(10.0f, x))
GRADER_HALF_FUNCTION(log, logf(x))
GRADER_HALF_FUNCTION(log2, log2f(x))
GRADER_HALF_FUNCTION(log10, log10f(x))
GRADER_HALF_FUNCTION(sin, sinf(x))
GRADER_HALF_FUNCTION(cos, cosf(x))
GRADER_HALF_FUNCTION(tanh, tanhf(x))
GRADER_HALF_FUNCTION(floor, floorf(x))
GRADER_HALF_FUNCTION(ceil, ceilf(x))
GRADER_HALF_FUNCTION(trunc, truncf(x))
GRADER_HALF_FUNCTION(rint, rintf(x))
#undef GRADER_HALF_FUNCTION

// ---- atomics ----

namespace grader {
template <> struct AtomicWord<GRADER_TYPE> { typedef unsigned short type; };
}
GRADER_INLINE GRADER_TYPE atomicAdd(GRADER_TYPE* p, GRADER_TYPE v) { return grader::atomic_update(p, [=](GRADER_TYPE old) { return old + v; }); }
GRADER_INLINE GRADER_PAIR atomicAdd(GRADER_PAIR* p, GRADER_PAIR v) {
    GRADER_TYPE low = atomicAdd(&p->x, v.x), high = atomicAdd(&p->y, v.y);
    return {low, high};
}
