// What inline PTX becomes (grader/emulation/cuda_cpp/ptx.py): a function for each instruction.
#pragma once

#include "half_bits.h"
#include "warp_exchange.h"

typedef signed char grader_s8;
typedef unsigned char grader_u8;
typedef short grader_s16;
typedef unsigned short grader_u16;
typedef int grader_s32;
typedef unsigned int grader_u32;
typedef long long grader_s64;
typedef unsigned long long grader_u64;

#define GRADER_SMALL_FLOAT(name, to_bits, to_value)                             \
    struct name {                                                               \
        unsigned short bits;                                                    \
        name() = default;                                                       \
        GRADER_INLINE name(float v) : bits(::grader::to_bits(v)) {}             \
        GRADER_INLINE operator float() const { return ::grader::to_value(bits); } \
    };                                                                          \
    struct name##x2 { name x, y; };                                             \
    GRADER_INLINE name##x2 operator+(name##x2 a, name##x2 b) { return {a.x + b.x, a.y + b.y}; } \
    GRADER_INLINE name##x2 operator-(name##x2 a, name##x2 b) { return {a.x - b.x, a.y - b.y}; } \
    GRADER_INLINE name##x2 operator*(name##x2 a, name##x2 b) { return {a.x * b.x, a.y * b.y}; } \
    namespace grader { namespace ptx {                                          \
    GRADER_INLINE name fused(name a, name b, name c) { return fmaf(a, b, c); }  \
    GRADER_INLINE name##x2 fused(name##x2 a, name##x2 b, name##x2 c) { return {fmaf(a.x, b.x, c.x), fmaf(a.y, b.y, c.y)}; } \
    GRADER_INLINE name lesser(name a, name b) { return fminf(a, b); }           \
    GRADER_INLINE name greater(name a, name b) { return fmaxf(a, b); }          \
    GRADER_INLINE name##x2 lesser(name##x2 a, name##x2 b) { return {fminf(a.x, b.x), fminf(a.y, b.y)}; }  \
    GRADER_INLINE name##x2 greater(name##x2 a, name##x2 b) { return {fmaxf(a.x, b.x), fmaxf(a.y, b.y)}; } \
    }}
GRADER_SMALL_FLOAT(grader_f16, half_bits, half_value)
GRADER_SMALL_FLOAT(grader_bf16, bfloat_bits, bfloat_value)
#undef GRADER_SMALL_FLOAT
struct grader_tf32 {
    unsigned bits;
    GRADER_INLINE operator float() const { return ::grader::tf32_value(__uint_as_float(bits)); }
};

namespace grader {
namespace ptx {

// ---- registers: bits, whatever the type of the operand ----

// An operand that is read as another type: a load that a hook sees, and none if it is a register.
template <class T> struct __attribute__((may_alias)) Aliased { T value; };
template <class To, class From> GRADER_INLINE To as(const From& from) {
    // By way of a number, because g++ does not cast a reference to a `__restrict__` pointer.
    if constexpr (sizeof(To) <= sizeof(From)) return reinterpret_cast<const Aliased<To>*>(reinterpret_cast<size_t>(&from))->value;
    To to{};
    reinterpret_cast<Aliased<From>&>(to).value = from;
    return to;
}
template <class To, class From> GRADER_INLINE void put(To& to, const From& from) {
    if constexpr (sizeof(From) < sizeof(To) && static_cast<From>(-1) < static_cast<From>(0)) to = as<To>(static_cast<long long>(from));
    else to = as<To>(from);
}
template <class To> GRADER_INLINE void put(To& to, float from) { to = as<To>(from); }
template <class To> GRADER_INLINE void put(To& to, double from) { to = as<To>(from); }
template <class To> GRADER_INLINE void put(To& to, grader_f16 from) { to = as<To>(from); }
template <class To> GRADER_INLINE void put(To& to, grader_bf16 from) { to = as<To>(from); }
template <class To> GRADER_INLINE void put(To& to, grader_f16x2 from) { to = as<To>(from); }
template <class To> GRADER_INLINE void put(To& to, grader_bf16x2 from) { to = as<To>(from); }
GRADER_INLINE void put(bool& to, bool from) { to = from; }
template <class From> GRADER_INLINE unsigned bits(const From& from) { return as<unsigned>(from); }
template <class To> GRADER_INLINE To from_bits(unsigned from, const To&) { return as<To>(from); }

template <class To, class... Parts> GRADER_INLINE To pack(Parts... parts) {
    unsigned long long all = 0;
    unsigned at = 0;
    constexpr unsigned width = 8 * sizeof(To) / sizeof...(Parts);
    ((all |= (as<unsigned long long>(parts) & (width == 64 ? ~0ull : (1ull << width % 64) - 1)) << at, at += width), ...);
    return as<To>(all);
}
template <unsigned Width, unsigned At, class From> GRADER_INLINE auto unpack(const From& from) {
    const unsigned long long part = as<unsigned long long>(from) >> (Width * At);
    if constexpr (Width == 8) return (grader_u8)part;
    else if constexpr (Width == 16) return (grader_u16)part;
    else return (grader_u32)part;
}

// ---- arithmetic ----

GRADER_INLINE float fused(float a, float b, float c) { return fmaf(a, b, c); }
GRADER_INLINE double fused(double a, double b, double c) { return fma(a, b, c); }
template <class T> GRADER_INLINE T lesser(T a, T b) { return b < a ? b : a; }
template <class T> GRADER_INLINE T greater(T a, T b) { return a < b ? b : a; }
GRADER_INLINE float lesser(float a, float b) { return fminf(a, b); }
GRADER_INLINE float greater(float a, float b) { return fmaxf(a, b); }

#define GRADER_PTX_1(name, expression)                                                    \
    template <class T, class A> GRADER_INLINE T name(const A& first) {                    \
        const T a = as<T>(first);                                                         \
        return expression;                                                                \
    }
#define GRADER_PTX_2(name, expression)                                                    \
    template <class T, class A, class B> GRADER_INLINE T name(const A& first, const B& second) { \
        const T a = as<T>(first), b = as<T>(second);                                      \
        return expression;                                                                \
    }
#define GRADER_PTX_3(name, expression)                                                    \
    template <class T, class A, class B, class C>                                         \
    GRADER_INLINE T name(const A& first, const B& second, const C& third) {               \
        const T a = as<T>(first), b = as<T>(second), c = as<T>(third);                    \
        return expression;                                                                \
    }
GRADER_PTX_1(mov, a)
GRADER_PTX_1(neg, (T)-a)
GRADER_PTX_1(abs, (T)(a < 0 ? -a : a))
GRADER_PTX_1(sqrt, (T)::sqrt(a))
GRADER_PTX_1(rsqrt, (T)(1 / ::sqrt(a)))
GRADER_PTX_1(rcp, (T)(1 / a))
GRADER_PTX_1(sin, (T)sinf((float)a))
GRADER_PTX_1(cos, (T)cosf((float)a))
GRADER_PTX_1(ex2, (T)exp2f((float)a))
GRADER_PTX_1(lg2, (T)log2f((float)a))
GRADER_PTX_1(tanh, (T)tanhf((float)a))
GRADER_PTX_2(add, (T)(a + b))
GRADER_PTX_2(sub, (T)(a - b))
GRADER_PTX_2(mul, (T)(a * b))
GRADER_PTX_2(div, (T)(a / b))
GRADER_PTX_2(rem, (T)(a % b))
GRADER_PTX_2(min, lesser(a, b))
GRADER_PTX_2(max, greater(a, b))
GRADER_PTX_2(mul_lo, (T)((grader_u64)a * (grader_u64)b))
GRADER_PTX_3(mad_lo, (T)((grader_u64)a * (grader_u64)b + (grader_u64)c))
GRADER_PTX_3(fma, fused(a, b, c))
GRADER_PTX_3(mad, fused(a, b, c))
GRADER_PTX_3(sad, (T)(c + (a < b ? b - a : a - b)))
#undef GRADER_PTX_1
#undef GRADER_PTX_2
#undef GRADER_PTX_3

#define GRADER_PTX_LOGIC(name, op)                                                        \
    template <class T, class A, class B> GRADER_INLINE T name##_bits(const A& a, const B& b) { return (T)(as<T>(a) op as<T>(b)); }
GRADER_PTX_LOGIC(and, &)
GRADER_PTX_LOGIC(or, |)
GRADER_PTX_LOGIC(xor, ^)
#undef GRADER_PTX_LOGIC
template <class T, class A> GRADER_INLINE T not_bits(const A& a) {
    if constexpr (sizeof(T) == sizeof(bool) && (T)2 == (T)1) return !as<T>(a);
    else return (T)~as<T>(a);
}
template <class T, class A> GRADER_INLINE T cnot(const A& a) { return as<T>(a) == 0; }
template <class T, class A> GRADER_INLINE int popc(const A& a) { return __popcll(as<grader_u64>(as<T>(a))); }
template <class T, class A> GRADER_INLINE int clz(const A& a) { return __clzll((long long)as<grader_u64>(as<T>(a))) - (64 - 8 * (int)sizeof(T)); }
template <class T, class A> GRADER_INLINE T brev(const A& a) {
    return (T)(__brevll(as<grader_u64>(as<T>(a))) >> (64 - 8 * sizeof(T)));
}
template <class T, class A> GRADER_INLINE unsigned bfind(const A& a) {
    T x = as<T>(a);
    if (x < 0) x = (T)~x;
    return x == 0 ? 0xffffffffu : 63u - (unsigned)__clzll((long long)as<grader_u64>(x));
}
template <class T, class A, class B> GRADER_INLINE T shl(const A& a, const B& by) {
    const unsigned n = as<unsigned>(by);
    return n < 8 * sizeof(T) ? (T)(as<T>(a) << n) : T(0);
}
template <class T, class A, class B> GRADER_INLINE T shr(const A& a, const B& by) {
    const unsigned n = as<unsigned>(by), most = 8 * sizeof(T) - 1;
    const T x = as<T>(a);
    return n <= most ? (T)(x >> n) : x < 0 ? (T)-1 : T(0);
}
template <class T, class A, class B> GRADER_INLINE T mul_hi(const A& first, const B& second) {
    const T a = as<T>(first), b = as<T>(second);
    if constexpr ((T)-1 < (T)0) return (T)(((__int128)a * (__int128)b) >> (8 * sizeof(T)));
    else return (T)(((unsigned __int128)a * (unsigned __int128)b) >> (8 * sizeof(T)));
}
template <class T, class A, class B, class C> GRADER_INLINE T mad_hi(const A& a, const B& b, const C& c) {
    return (T)(mul_hi<T>(a, b) + as<T>(c));
}
template <class T> struct Wider;
template <> struct Wider<grader_s16> { typedef grader_s32 type; };
template <> struct Wider<grader_u16> { typedef grader_u32 type; };
template <> struct Wider<grader_s32> { typedef grader_s64 type; };
template <> struct Wider<grader_u32> { typedef grader_u64 type; };
template <class T, class A, class B> GRADER_INLINE auto mul_wide(const A& a, const B& b) {
    typedef typename Wider<T>::type W;
    return (W)((W)as<T>(a) * (W)as<T>(b));
}
template <class T, class A, class B, class C> GRADER_INLINE auto mad_wide(const A& a, const B& b, const C& c) {
    typedef typename Wider<T>::type W;
    return (W)(mul_wide<T>(a, b) + as<W>(c));
}
template <class T, class A, class B> GRADER_INLINE T mul24_lo(const A& a, const B& b) { return (T)__mul24(as<int>(a), as<int>(b)); }
template <class T, class A, class B> GRADER_INLINE T copysign(const A& sign, const B& value) { return (T)::copysign((double)as<T>(value), (double)as<T>(sign)); }
template <class T, class A, class B, class C> GRADER_INLINE T bfe(const A& a, const B& position, const C& length) {
    const unsigned at = as<unsigned>(position) & 255, n = as<unsigned>(length) & 255, width = 8 * sizeof(T);
    const T x = as<T>(a);
    if (n == 0) return 0;
    const bool is_signed = (T)-1 < (T)0;
    const unsigned top = at + n - 1 < width - 1 ? at + n - 1 : width - 1;
    const bool sign = is_signed && (as<grader_u64>(x) >> top & 1);
    grader_u64 result = at < width ? as<grader_u64>(x) >> at : 0;
    if (n < 64) result &= (1ull << n) - 1;
    if (sign && at + n > width) result |= ~0ull << (width > at ? width - at : 0);
    if (sign && n < 64) result |= ~0ull << n;
    return (T)result;
}
template <class T, class A, class B, class C, class D>
GRADER_INLINE T bfi(const A& from, const B& into, const C& position, const D& length) {
    const unsigned at = as<unsigned>(position) & 255, n = as<unsigned>(length) & 255;
    if (n == 0 || at >= 8 * sizeof(T)) return as<T>(into);
    const grader_u64 mask = (n < 64 ? (1ull << n) - 1 : ~0ull) << at;
    return (T)((as<grader_u64>(as<T>(into)) & ~mask) | (as<grader_u64>(as<T>(from)) << at & mask));
}
template <class T, class A, class B, class C> GRADER_INLINE T prmt(const A& a, const B& b, const C& c) {
    return (T)__byte_perm(as<unsigned>(a), as<unsigned>(b), as<unsigned>(c));
}
template <class T, class A, class B, class C, class D> GRADER_INLINE T lop3(const A& first, const B& second, const C& third, const D& table) {
    const unsigned a = as<unsigned>(first), b = as<unsigned>(second), c = as<unsigned>(third), t = as<unsigned>(table);
    unsigned result = 0;
    for (unsigned i = 0; i < 8; ++i)
        if (t >> i & 1) result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    return (T)result;
}
template <class T, class A, class B, class C> GRADER_INLINE T shf_l_wrap(const A& a, const B& b, const C& c) { return (T)__funnelshift_l(as<unsigned>(a), as<unsigned>(b), as<unsigned>(c)); }
template <class T, class A, class B, class C> GRADER_INLINE T shf_r_wrap(const A& a, const B& b, const C& c) { return (T)__funnelshift_r(as<unsigned>(a), as<unsigned>(b), as<unsigned>(c)); }
template <class T, class A, class B, class C> GRADER_INLINE T shf_l_clamp(const A& a, const B& b, const C& c) { return (T)__funnelshift_lc(as<unsigned>(a), as<unsigned>(b), as<unsigned>(c)); }
template <class T, class A, class B, class C> GRADER_INLINE T shf_r_clamp(const A& a, const B& b, const C& c) { return (T)__funnelshift_rc(as<unsigned>(a), as<unsigned>(b), as<unsigned>(c)); }
template <class T, class A, class B, class C> GRADER_INLINE T dp4a(const A& a, const B& b, const C& c) {
    T sum = as<T>(c);
    for (int i = 0; i < 4; ++i) {
        const unsigned x = as<unsigned>(a) >> (8 * i) & 255, y = as<unsigned>(b) >> (8 * i) & 255;
        sum += (T)-1 < (T)0 ? (T)((int)(signed char)x * (int)(signed char)y) : (T)(x * y);
    }
    return sum;
}
GRADER_INLINE float saturated(float x) { return __saturatef(x); }
template <class T> GRADER_INLINE T saturated(T x) { return x; }

template <class T> constexpr bool is_float = false;
template <> constexpr bool is_float<float> = true;
template <> constexpr bool is_float<double> = true;
template <> constexpr bool is_float<grader_f16> = true;
template <> constexpr bool is_float<grader_bf16> = true;
template <class T> struct Least { static constexpr T value = (T)-1 < (T)0 ? (T)(1ull << (8 * sizeof(T) - 1)) : (T)0; };
template <class T> struct Most { static constexpr T value = (T)~Least<T>::value; };

// ---- conversions; the mode is 0 nearest, 1 towards zero, 2 down, 3 up ----

template <class To, class From, int Mode, class A> GRADER_INLINE To convert(const A& source) {
    const From from = as<From>(source);
    if constexpr (is_float<From>) {
        const double x = (double)from;
        const double whole = Mode == 1 ? ::trunc(x) : Mode == 2 ? ::floor(x) : Mode == 3 ? ::ceil(x) : ::rint(x);
        if constexpr (is_float<To>) return (To)(sizeof(To) == sizeof(From) && Mode != 0 ? whole : x);
        else if constexpr (sizeof(To) == 8) return (To)((To)-1 < (To)0 ? (To)to_longlong(whole) : (To)__double2ull_rz(whole));
        else return clamped<To>(whole, (double)Least<To>::value, (double)Most<To>::value, Least<To>::value, Most<To>::value);
    } else {
        return (To)from;
    }
}
template <class T> struct Pair;
template <> struct Pair<grader_f16x2> { typedef grader_f16 type; };
template <> struct Pair<grader_bf16x2> { typedef grader_bf16 type; };
template <class To, class A, class B> GRADER_INLINE To convert_pair(const A& high, const B& low) {
    typedef typename Pair<To>::type T;
    return {T(as<float>(low)), T(as<float>(high))};
}
template <class A> GRADER_INLINE float to_tf32(const A& value) { return tf32_value(as<float>(value)); }

// ---- addresses: a shared one is an offset, as on a GPU ----

template <class A> GRADER_INLINE grader_u64 address_to_shared(const A& a) { return as<grader_u64>(a) - (grader_u64)grader_shared_base; }
template <class A> GRADER_INLINE grader_u64 address_from_shared(const A& a) { return as<grader_u64>(a) + (grader_u64)grader_shared_base; }
template <class A> GRADER_INLINE grader_u64 address_to_generic(const A& a) { return as<grader_u64>(a); }
template <class A> GRADER_INLINE grader_u64 address_from_generic(const A& a) { return as<grader_u64>(a); }
template <class T, class A, class B> GRADER_INLINE T* at_shared(const A& a, const B& offset) {
    return (T*)(grader_shared_base + as<unsigned>(a) + offset);
}
template <class T, class A, class B> GRADER_INLINE T* at_generic(const A& a, const B& offset) {
    return (T*)(as<grader_u64>(a) + (grader_u64)offset);
}

template <class T, int Count> struct alignas(sizeof(T) * Count) Values { T v[Count]; };
template <class T, int Count, int Strong> GRADER_INLINE Values<T, Count> load(const T* at) {
    if constexpr (Strong) {
        Values<T, Count> result;
        for (int i = 0; i < Count; ++i) result.v[i] = const_cast<const volatile T*>(at)[i];
        return result;
    } else if constexpr (Count == 1) {
        return {{*at}};
    } else {
        return *reinterpret_cast<const Values<T, Count>*>(at);
    }
}
template <class T, int Count, int Strong> GRADER_INLINE void store(T* at, Values<T, Count> values) {
    if constexpr (Strong) {
        for (int i = 0; i < Count; ++i) const_cast<volatile T*>(at)[i] = values.v[i];
    } else if constexpr (Count == 1) {
        *at = values.v[0];
    } else {
        *reinterpret_cast<Values<T, Count>*>(at) = values;
    }
}

// ---- registers of the thread's place ----

GRADER_INLINE unsigned lane() { return linear_thread() % 32; }
GRADER_INLINE unsigned warp_of_block() { return linear_thread() / 32; }
GRADER_INLINE unsigned lanes_below() { return (1u << lane()) - 1; }

struct Shuffled {
    unsigned value;
    bool taken;
};
#define GRADER_PTX_SHUFFLE(name, call, is_inside)                                                  \
    template <class M, class A, class B, class C>                                                  \
    GRADER_INLINE Shuffled shuffle_##name(const M& mask, const A& value, const B& operand, const C& clamp) { \
        const unsigned b = as<unsigned>(operand), width = 32 - (as<unsigned>(clamp) >> 8 & 31);    \
        const unsigned own = lane(), first = own & ~(width - 1), last = first + width - 1;         \
        (void)first, (void)last, (void)own;                                                        \
        return {call(as<unsigned>(mask), as<unsigned>(value), (int)b, (int)width), is_inside};     \
    }
GRADER_PTX_SHUFFLE(idx, __shfl_sync, true)
GRADER_PTX_SHUFFLE(up, __shfl_up_sync, own >= first + b)
GRADER_PTX_SHUFFLE(down, __shfl_down_sync, own + b <= last)
GRADER_PTX_SHUFFLE(bfly, __shfl_xor_sync, (own ^ b) <= last)
#undef GRADER_PTX_SHUFFLE

// ---- tensor cores: the registers' layout is PTX's ----

// Rows of 16 bytes: lane l of the first 8 lanes for each matrix has the address of row l % 8.
template <int Count, int Transposed> GRADER_INLINE Values<unsigned, Count> load_matrices(const char* row) {
    struct Row { unsigned short v[8]; } mine = {}, all[32];
    const unsigned l = lane();
    if (l < 8 * Count) {
        const Values<unsigned, 4> loaded = *reinterpret_cast<const Values<unsigned, 4>*>(row);
        for (int i = 0; i < 8; ++i) mine.v[i] = (unsigned short)(loaded.v[i / 2] >> i % 2 * 16);
    }
    all_lanes(mine, all);
    Values<unsigned, Count> result;
    for (int m = 0; m < Count; ++m) {
        unsigned pair[2];
        for (unsigned i = 0; i < 2; ++i) {
            const unsigned r = Transposed ? l % 4 * 2 + i : l / 4, c = Transposed ? l / 4 : l % 4 * 2 + i;
            pair[i] = all[m * 8 + r].v[c];
        }
        result.v[m] = pair[0] | pair[1] << 16;
    }
    return result;
}

template <class T> struct Scalar { typedef float type; };
template <> struct Scalar<grader_s8> { typedef int type; };
template <> struct Scalar<grader_u8> { typedef int type; };

// The lane's four elements of A B + C, with A of 16 by Depth, B of Depth by 8; each register holds 4
// bytes of a row of A, or of a column of B. Its arrays are the emulation's: hooks would look at each
// of their accesses.
template <class T, int Depth, class Registers, class Result>
__attribute__((noinline, optimize("O2"), no_sanitize("thread", "undefined")))
void products(const Registers* all, int lane, Result* sums) {
    constexpr int each = 4 / (int)sizeof(T);
    typedef typename Scalar<T>::type Number;
    Number left[2][Depth], right[2][Depth];
    for (int i = 0; i < 2; ++i)
        for (int k = 0; k < Depth; ++k) {
            const int owner = k % (4 * each) / each, part = k % each, place = k / (4 * each);
            left[i][k] = (Number)reinterpret_cast<const T*>(&all[lane / 4 * 4 + owner].a[place * 2 + i])[part];
            right[i][k] = (Number)reinterpret_cast<const T*>(&all[(lane % 4 * 2 + i) * 4 + owner].b[place])[part];
        }
    for (int i = 0; i < 4; ++i) {
        auto sum = (Number)sums[i];
        for (int k = 0; k < Depth; ++k) sum += left[i / 2][k] * right[i % 2][k];
        sums[i] = (Result)sum;
    }
}

template <class T, class Result, int Depth>
GRADER_INLINE auto mma(Values<unsigned, Depth * (int)sizeof(T) / 8> a, Values<unsigned, Depth * (int)sizeof(T) / 16> b,
                       Values<unsigned, (int)sizeof(Result)> c) {
    constexpr int a_registers = Depth * (int)sizeof(T) / 8, b_registers = a_registers / 2;
    struct Registers { unsigned a[a_registers], b[b_registers]; } mine, all[32];
    for (int i = 0; i < a_registers; ++i) mine.a[i] = a.v[i];
    for (int i = 0; i < b_registers; ++i) mine.b[i] = b.v[i];
    all_lanes(mine, all);
    constexpr int each = 4 / (int)sizeof(Result);  // results of a register
    Result sums[4];
    for (int i = 0; i < 4; ++i) sums[i] = as<Result>(c.v[i / each] >> i % each * 8 * (int)sizeof(Result));
    products<T, Depth>(all, (int)lane(), sums);
    Values<unsigned, (int)sizeof(Result)> result;
    for (int i = 0; i < 4; i += each) {
        result.v[i / each] = as<unsigned>(sums[i]);
        for (int j = 1; j < each; ++j) result.v[i / each] |= as<unsigned>(sums[i + j]) << j * 8 * (int)sizeof(Result);
    }
    return result;
}

}  // namespace ptx
}  // namespace grader

GRADER_INLINE size_t __cvta_generic_to_shared(const void* p) { return grader::ptx::address_to_shared(p); }
GRADER_INLINE size_t __cvta_generic_to_global(const void* p) { return (size_t)p; }
GRADER_INLINE void* __cvta_shared_to_generic(size_t offset) { return grader_shared_base + offset; }
GRADER_INLINE void* __cvta_global_to_generic(size_t address) { return (void*)address; }
