// Skipping ahead in the XORWOW generator (curand_kernel.h).
//
// A step is a linear map of 160 bits. Its powers of two, as matrices, come from squaring; subsequences
// are 2^67 steps apart.
#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

namespace {

constexpr unsigned kBits = 160, kWords = 5, kLogSubsequence = 67;

using Vector = std::array<uint32_t, kWords>;
using Matrix = std::array<Vector, kBits>;  // the images of the single bits

void mapped_by(const Matrix& matrix, Vector& v) {
    Vector image = {};
    for (unsigned bit = 0; bit < kBits; ++bit) {
        if (!(v[bit / 32] >> bit % 32 & 1)) continue;
        for (unsigned word = 0; word < kWords; ++word) image[word] ^= matrix[bit][word];
    }
    v = image;
}

Matrix one_step() {
    Matrix matrix;
    for (unsigned bit = 0; bit < kBits; ++bit) {
        Vector v = {};
        v[bit / 32] = uint32_t(1) << bit % 32;
        const uint32_t t = v[0] ^ v[0] >> 2;
        matrix[bit] = {v[1], v[2], v[3], v[4], v[4] ^ v[4] << 4 ^ t ^ t << 1};
    }
    return matrix;
}

// The map of 2^exponent steps.
const Matrix& power(unsigned exponent) {
    static std::mutex lock;
    static std::vector<Matrix>& powers = *new std::vector<Matrix>;
    std::lock_guard<std::mutex> guard(lock);
    if (powers.empty()) {
        powers.reserve(kLogSubsequence + 64);  // references stay
        powers.push_back(one_step());
    }
    while (powers.size() <= exponent) {
        Matrix square = powers.back();
        for (Vector& column : square) mapped_by(powers.back(), column);
        powers.push_back(square);
    }
    return powers[exponent];
}

void skip(Vector& v, uint64_t count, unsigned first_exponent) {
    for (unsigned bit = 0; count >> bit; ++bit) {
        if (count >> bit & 1) mapped_by(power(first_exponent + bit), v);
        if (bit == 63) return;
    }
}

}  // namespace

extern "C" void grader_xorwow_skip(unsigned* v, unsigned long long subsequences, unsigned long long steps) {
    if (!subsequences && !steps) return;
    Vector state = {v[0], v[1], v[2], v[3], v[4]};
    skip(state, subsequences, kLogSubsequence);
    skip(state, steps, 0);
    for (unsigned word = 0; word < kWords; ++word) v[word] = state[word];
}
