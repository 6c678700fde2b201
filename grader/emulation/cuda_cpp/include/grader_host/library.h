// What the emulation's own CUB and Thrust share: launches of a library, iterators, a merge sort.
//
// A device-wide algorithm is a launch of one thread, so its accesses are checked and its result is the
// same in every run. A finding in it is shown at the student's call.
#pragma once

#include <iterator>
#include <limits>
#include <type_traits>

#include "../cuda_runtime.h"

extern "C" int grader_in_kernel();

namespace thrust {
template <class T> class device_ptr;
}

namespace grader {

// The pointer of a device_ptr; other iterators as they are.
template <class I> GRADER_INLINE I raw(I iterator) { return iterator; }
template <class T> GRADER_INLINE T* raw(thrust::device_ptr<T> pointer) { return pointer.get(); }
template <class I> using ValueOf = typename ::std::decay<decltype(*raw(::std::declval<I>()))>::type;

template <class Body> GRADER_INLINE cudaError_t library_launch(const char* name, cudaStream_t stream, Body body) {
    Launch(dim3(1), dim3(1), 0, stream).grader_named(name, [](auto& run) { run(); })(body);
    return grader_last_launch();
}

struct Less {
    template <class A, class B> bool operator()(const A& a, const B& b) const { return a < b; }
};
struct Add {
    template <class A, class B> auto operator()(const A& a, const B& b) const { return a + b; }
};
// In place of values.
struct NoValues {
    struct Nothing {};
    Nothing operator[](size_t) const { return {}; }
    NoValues operator+(size_t) const { return {}; }
};

// Stable. The keys and values end where they began; `spare` has room for as many.
template <class Keys, class Values, class Key, class SpareValues, class Before>
GRADER_INLINE void merge_sort(Keys keys, Values values, Key* spare, SpareValues spare_values, size_t count, Before before) {
    constexpr bool with_values = !::std::is_same<Values, NoValues>::value;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t begin = 0; begin < count; begin += 2 * width) {
            const size_t middle = begin + width < count ? begin + width : count;
            const size_t end = begin + 2 * width < count ? begin + 2 * width : count;
            size_t left = begin, right = middle;
            for (size_t to = begin; to < end; ++to) {
                const bool second = left == middle || (right < end && before(keys[right], keys[left]));
                const size_t from = second ? right++ : left++;
                spare[to] = keys[from];
                if constexpr (with_values) spare_values[to] = values[from];
            }
        }
        for (size_t i = 0; i < count; ++i) {
            keys[i] = spare[i];
            if constexpr (with_values) values[i] = spare_values[i];
        }
    }
}

}  // namespace grader
