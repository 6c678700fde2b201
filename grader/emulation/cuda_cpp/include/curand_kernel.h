// cuRAND's device API for two generators, written for the emulation: XORWOW (G. Marsaglia, Xorshift
// RNGs, 2003) and Philox4x32-10 (J. Salmon et al., Parallel random numbers: as easy as 1, 2, 3, 2011).
#pragma once

#include "cuda_runtime.h"

struct curandStateXORWOW {
    unsigned d, v[5];
    int boxmuller_flag, boxmuller_flag_double;
    float boxmuller_extra;
    double boxmuller_extra_double;
};
typedef struct curandStateXORWOW curandStateXORWOW_t, curandState_t, curandState;

struct curandStatePhilox4_32_10 {
    uint4 ctr, output;
    uint2 key;
    unsigned STATE;
    int boxmuller_flag, boxmuller_flag_double;
    float boxmuller_extra;
    double boxmuller_extra_double;
};
typedef struct curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

extern "C" void grader_xorwow_skip(unsigned* v, unsigned long long subsequences, unsigned long long steps);

namespace grader {

GRADER_INLINE uint4 philox_next(uint4 counter) {
    if (++counter.x == 0 && ++counter.y == 0 && ++counter.z == 0) ++counter.w;
    return counter;
}
GRADER_INLINE uint4 philox(uint4 c, uint2 key) {
    for (int round = 0; round < 10; ++round) {
        const unsigned long long a = 0xD2511F53ull * c.x, b = 0xCD9E8D57ull * c.z;
        c = make_uint4((unsigned)(b >> 32) ^ c.y ^ key.x, (unsigned)b, (unsigned)(a >> 32) ^ c.w ^ key.y, (unsigned)a);
        key.x += 0x9E3779B9u;
        key.y += 0xBB67AE85u;
    }
    return c;
}
GRADER_INLINE float unit_float(unsigned x) { return fmaf((float)x, 0x1p-32f, 0x1p-33f); }
GRADER_INLINE double unit_double(unsigned x, unsigned y) {
    const unsigned long long z = (unsigned long long)x ^ ((unsigned long long)y << 21);
    return (double)z * 0x1p-53 + 0x1p-54;
}
GRADER_INLINE float2 normal_pair(unsigned x, unsigned y) {
    const float turn = 0x1.921fb6p+2f * 0x1p-32f, radius = sqrtf(-2.0f * logf(unit_float(x))), angle = fmaf((float)y, turn, turn / 2);
    return make_float2(radius * sinf(angle), radius * cosf(angle));
}
GRADER_INLINE double2 normal_pair_double(double u, double v) {
    const double radius = sqrt(-2.0 * log(u)), angle = 2 * 3.14159265358979323846 * v;
    return make_double2(radius * sin(angle), radius * cos(angle));
}

}  // namespace grader

GRADER_INLINE unsigned curand(curandStateXORWOW_t* state) {
    const unsigned t = state->v[0] ^ (state->v[0] >> 2);
    for (int i = 0; i < 4; ++i) state->v[i] = state->v[i + 1];
    state->v[4] = (state->v[4] ^ (state->v[4] << 4)) ^ (t ^ (t << 1));
    state->d += 362437;
    return state->v[4] + state->d;
}
GRADER_INLINE uint4 curand4(curandStatePhilox4_32_10_t* state) {
    const uint4 now = state->output;
    state->ctr = grader::philox_next(state->ctr);
    state->output = grader::philox(state->ctr, state->key);
    const uint4 then = state->output;
    if (state->STATE == 0) return now;
    if (state->STATE == 1) return make_uint4(now.y, now.z, now.w, then.x);
    if (state->STATE == 2) return make_uint4(now.z, now.w, then.x, then.y);
    return make_uint4(now.w, then.x, then.y, then.z);
}
GRADER_INLINE unsigned curand(curandStatePhilox4_32_10_t* state) {
    const uint4 now = state->output;
    const unsigned value = state->STATE == 0 ? now.x : state->STATE == 1 ? now.y : state->STATE == 2 ? now.z : now.w;
    if (++state->STATE == 4) {
        state->STATE = 0;
        state->ctr = grader::philox_next(state->ctr);
        state->output = grader::philox(state->ctr, state->key);
    }
    return value;
}

GRADER_INLINE void skipahead(unsigned long long steps, curandStateXORWOW_t* state) {
    grader_xorwow_skip(state->v, 0, steps);
    state->d += 362437u * (unsigned)steps;
}
GRADER_INLINE void skipahead_sequence(unsigned long long count, curandStateXORWOW_t* state) { grader_xorwow_skip(state->v, count, 0); }
GRADER_INLINE void skipahead(unsigned long long steps, curandStatePhilox4_32_10_t* state) {
    const unsigned rest = state->STATE + (unsigned)(steps & 3);
    const unsigned long long low = ((unsigned long long)state->ctr.y << 32 | state->ctr.x), moved = low + steps / 4 + rest / 4;
    state->STATE = rest % 4;
    if (moved < low && ++state->ctr.z == 0) ++state->ctr.w;
    state->ctr.x = (unsigned)moved;
    state->ctr.y = (unsigned)(moved >> 32);
    state->output = grader::philox(state->ctr, state->key);
}
GRADER_INLINE void skipahead_sequence(unsigned long long count, curandStatePhilox4_32_10_t* state) {
    const unsigned long long moved = ((unsigned long long)state->ctr.w << 32 | state->ctr.z) + count;
    state->ctr.z = (unsigned)moved;
    state->ctr.w = (unsigned)(moved >> 32);
    state->output = grader::philox(state->ctr, state->key);
}

GRADER_INLINE void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset, curandStateXORWOW_t* state) {
    const unsigned a = 1099087573u * ((unsigned)seed ^ 0xaad26b49u), b = 2591861531u * ((unsigned)(seed >> 32) ^ 0xf7dcefddu);
    *state = {6615241u + a + b, {123456789u + a, 362436069u ^ a, 521288629u + b, 88675123u ^ b, 5783321u + a}, 0, 0, 0.0f, 0.0};
    skipahead_sequence(subsequence, state);
    skipahead(offset, state);
}
GRADER_INLINE void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset, curandStatePhilox4_32_10_t* state) {
    *state = {make_uint4(0, 0, 0, 0), make_uint4(0, 0, 0, 0), make_uint2((unsigned)seed, (unsigned)(seed >> 32)), 0, 0, 0, 0.0f, 0.0};
    skipahead_sequence(subsequence, state);
    skipahead(offset, state);
}

#define GRADER_RANDOM(State)                                                                                         \
    GRADER_INLINE float curand_uniform(State* state) { return grader::unit_float(curand(state)); }                  \
    GRADER_INLINE double curand_uniform_double(State* state) {                                                      \
        const unsigned x = curand(state), y = curand(state);                                                        \
        return grader::unit_double(x, y);                                                                           \
    }                                                                                                               \
    GRADER_INLINE float2 curand_normal2(State* state) {                                                             \
        const unsigned x = curand(state), y = curand(state);                                                        \
        return grader::normal_pair(x, y);                                                                           \
    }                                                                                                               \
    GRADER_INLINE float curand_normal(State* state) {                                                               \
        if (state->boxmuller_flag) {                                                                                \
            state->boxmuller_flag = 0;                                                                              \
            return state->boxmuller_extra;                                                                          \
        }                                                                                                           \
        const float2 pair = curand_normal2(state);                                                                  \
        state->boxmuller_extra = pair.y;                                                                            \
        state->boxmuller_flag = 1;                                                                                  \
        return pair.x;                                                                                              \
    }                                                                                                               \
    GRADER_INLINE double2 curand_normal2_double(State* state) {                                                     \
        const double u = curand_uniform_double(state), v = curand_uniform_double(state);                            \
        return grader::normal_pair_double(u, v);                                                                    \
    }                                                                                                               \
    GRADER_INLINE double curand_normal_double(State* state) {                                                       \
        if (state->boxmuller_flag_double) {                                                                         \
            state->boxmuller_flag_double = 0;                                                                       \
            return state->boxmuller_extra_double;                                                                   \
        }                                                                                                           \
        const double2 pair = curand_normal2_double(state);                                                          \
        state->boxmuller_extra_double = pair.y;                                                                     \
        state->boxmuller_flag_double = 1;                                                                           \
        return pair.x;                                                                                              \
    }                                                                                                               \
    GRADER_INLINE float curand_log_normal(State* state, float mean, float stddev) { return expf(mean + stddev * curand_normal(state)); }
GRADER_RANDOM(curandStateXORWOW_t)
GRADER_RANDOM(curandStatePhilox4_32_10_t)
#undef GRADER_RANDOM

GRADER_INLINE float4 curand_uniform4(curandStatePhilox4_32_10_t* state) {
    const uint4 x = curand4(state);
    return make_float4(grader::unit_float(x.x), grader::unit_float(x.y), grader::unit_float(x.z), grader::unit_float(x.w));
}
GRADER_INLINE float4 curand_normal4(curandStatePhilox4_32_10_t* state) {
    const uint4 x = curand4(state);
    const float2 a = grader::normal_pair(x.x, x.y), b = grader::normal_pair(x.z, x.w);
    return make_float4(a.x, a.y, b.x, b.y);
}
