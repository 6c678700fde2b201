// Thrust's algorithms, iterators and function objects, as far as they are written for the emulation.
//
// An algorithm runs on the device, as a launch of one thread, if its policy says so or a pointer of a
// device_vector is among its arguments; else on the host.
#pragma once

#include <algorithm>
#include <functional>

#include "thrust_vector.h"

namespace thrust {

template <class T = void> using plus = ::std::plus<T>;
template <class T = void> using minus = ::std::minus<T>;
template <class T = void> using multiplies = ::std::multiplies<T>;
template <class T = void> using divides = ::std::divides<T>;
template <class T = void> using modulus = ::std::modulus<T>;
template <class T = void> using negate = ::std::negate<T>;
template <class T = void> using less = ::std::less<T>;
template <class T = void> using less_equal = ::std::less_equal<T>;
template <class T = void> using greater = ::std::greater<T>;
template <class T = void> using greater_equal = ::std::greater_equal<T>;
template <class T = void> using equal_to = ::std::equal_to<T>;
template <class T = void> using not_equal_to = ::std::not_equal_to<T>;
template <class T = void> struct maximum { T operator()(const T& a, const T& b) const { return a < b ? b : a; } };
template <class T = void> struct minimum { T operator()(const T& a, const T& b) const { return b < a ? b : a; } };
template <> struct maximum<void> { template <class T> T operator()(const T& a, const T& b) const { return a < b ? b : a; } };
template <> struct minimum<void> { template <class T> T operator()(const T& a, const T& b) const { return b < a ? b : a; } };
template <class T = void> struct square { T operator()(const T& a) const { return a * a; } };
template <> struct square<void> { template <class T> T operator()(const T& a) const { return a * a; } };

template <class T> class counting_iterator {
public:
    typedef ::std::random_access_iterator_tag iterator_category;
    typedef T value_type;
    typedef ::std::ptrdiff_t difference_type;
    typedef const T* pointer;
    typedef T reference;
    explicit counting_iterator(T value) : value_(value) {}
    T operator*() const { return value_; }
    T operator[](difference_type i) const { return T(value_ + T(i)); }
    counting_iterator operator+(difference_type n) const { return counting_iterator(T(value_ + T(n))); }
    difference_type operator-(const counting_iterator& other) const { return difference_type(value_) - difference_type(other.value_); }
    counting_iterator& operator++() { ++value_; return *this; }
    bool operator==(const counting_iterator& other) const { return value_ == other.value_; }
    bool operator!=(const counting_iterator& other) const { return value_ != other.value_; }

private:
    T value_;
};
template <class T> counting_iterator<T> make_counting_iterator(T value) { return counting_iterator<T>(value); }

namespace grader_detail {

struct AnyPolicy {};
template <bool Device> struct Policy : AnyPolicy {
    static constexpr bool device = Device;
    cudaStream_t stream = nullptr;
    Policy on(cudaStream_t given) const { Policy other; other.stream = given; return other; }
};
template <class P> constexpr bool is_policy = ::std::is_base_of<AnyPolicy, P>::value;

template <class P, class Body> GRADER_INLINE void perform(const P& policy, const char* name, Body body) {
    if constexpr (P::device) {
        ::grader::library_launch(name, policy.stream, body);
        cudaStreamSynchronize(policy.stream);
    } else {
        body();
    }
}
// The same with a result for the host.
template <class R, class P, class Body> GRADER_INLINE R result_of(const P& policy, const char* name, Body body) {
    if constexpr (P::device) {
        R *place = nullptr, result;
        grader_malloc((void**)&place, sizeof(R), "");
        ::grader::library_launch(name, policy.stream, [body, place] { *place = body(); });
        cudaStreamSynchronize(policy.stream);
        cudaMemcpy(&result, place, sizeof(R), cudaMemcpyDeviceToHost);
        cudaFree(place);
        return result;
    } else {
        return body();
    }
}
template <class T, class P> GRADER_INLINE T* spare(const P&, size_t count) {
    T* memory = nullptr;
    if (P::device) grader_malloc((void**)&memory, count * sizeof(T), "");
    else memory = (T*)malloc(count * sizeof(T));
    return memory;
}
template <class P> GRADER_INLINE void drop(const P&, void* memory) {
    if (P::device) cudaFree(memory);
    else free(memory);
}

using ::grader::raw;
using ::grader::ValueOf;

template <class P, class I, class T> GRADER_INLINE void fill(const P& policy, I first, I last, const T& value) {
    perform(policy, "thrust::fill", [to = raw(first), count = last - first, value] { for (auto i = count * 0; i < count; ++i) to[i] = value; });
}
template <class P, class I, class T, class S> GRADER_INLINE void sequence(const P& policy, I first, I last, T begin, S step) {
    perform(policy, "thrust::sequence", [to = raw(first), count = last - first, begin, step] {
        for (auto i = count * 0; i < count; ++i) to[i] = ValueOf<I>(begin + ValueOf<I>(i) * step);
    });
}
template <class P, class I, class T> GRADER_INLINE void sequence(const P& policy, I first, I last, T begin) { sequence(policy, first, last, begin, T(1)); }
template <class P, class I> GRADER_INLINE void sequence(const P& policy, I first, I last) { sequence(policy, first, last, ValueOf<I>(0)); }

template <class P, class I, class O, class F> GRADER_INLINE O transform(const P& policy, I first, I last, O result, F function) {
    perform(policy, "thrust::transform", [in = raw(first), out = raw(result), count = last - first, function]() mutable {
        for (auto i = count * 0; i < count; ++i) out[i] = function(in[i]);
    });
    return result + (last - first);
}
template <class P, class I, class J, class O, class F> GRADER_INLINE O transform(const P& policy, I first, I last, J second, O result, F function) {
    perform(policy, "thrust::transform", [in = raw(first), other = raw(second), out = raw(result), count = last - first, function]() mutable {
        for (auto i = count * 0; i < count; ++i) out[i] = function(in[i], other[i]);
    });
    return result + (last - first);
}
template <class P, class I, class F> GRADER_INLINE I for_each(const P& policy, I first, I last, F function) {
    perform(policy, "thrust::for_each", [in = raw(first), count = last - first, function]() mutable {
        for (auto i = count * 0; i < count; ++i) function(in[i]);
    });
    return last;
}

template <class P, class I, class F, class T, class G> GRADER_INLINE T transform_reduce(const P& policy, I first, I last, F function, T initial, G operation) {
    return result_of<T>(policy, "thrust::reduce", [in = raw(first), count = last - first, function, initial, operation] {
        T value = initial;
        for (auto i = count * 0; i < count; ++i) value = operation(value, function(in[i]));
        return value;
    });
}
struct Same { template <class T> T operator()(const T& value) const { return value; } };
template <class P, class I, class T, class G> GRADER_INLINE T reduce(const P& policy, I first, I last, T initial, G operation) {
    return transform_reduce(policy, first, last, Same(), initial, operation);
}
template <class P, class I, class T> GRADER_INLINE T reduce(const P& policy, I first, I last, T initial) { return reduce(policy, first, last, initial, ::grader::Add()); }
template <class P, class I> GRADER_INLINE ValueOf<I> reduce(const P& policy, I first, I last) { return reduce(policy, first, last, ValueOf<I>()); }

template <class P, class I, class J, class T, class G, class F>
GRADER_INLINE T inner_product(const P& policy, I first, I last, J second, T initial, G operation, F product) {
    return result_of<T>(policy, "thrust::inner_product", [in = raw(first), other = raw(second), count = last - first, initial, operation, product] {
        T value = initial;
        for (auto i = count * 0; i < count; ++i) value = operation(value, product(in[i], other[i]));
        return value;
    });
}
template <class P, class I, class J, class T> GRADER_INLINE T inner_product(const P& policy, I first, I last, J second, T initial) {
    return inner_product(policy, first, last, second, initial, ::std::plus<>(), ::std::multiplies<>());
}
template <class P, class I, class F> GRADER_INLINE ::std::ptrdiff_t count_if(const P& policy, I first, I last, F wanted) {
    return result_of<::std::ptrdiff_t>(policy, "thrust::count", [in = raw(first), count = last - first, wanted] {
        ::std::ptrdiff_t found = 0;
        for (auto i = count * 0; i < count; ++i) found += wanted(in[i]) ? 1 : 0;
        return found;
    });
}
template <class P, class I, class T> GRADER_INLINE ::std::ptrdiff_t count(const P& policy, I first, I last, T value) {
    return count_if(policy, first, last, [value](const auto& element) { return element == value; });
}
template <class P, class I, class B> GRADER_INLINE I max_element(const P& policy, I first, I last, B before) {
    return first + result_of<::std::ptrdiff_t>(policy, "thrust::max_element", [in = raw(first), count = last - first, before] {
        ::std::ptrdiff_t best = 0;
        for (auto i = count * 0; i < count; ++i) if (before(in[best], in[i])) best = i;
        return best;
    });
}
template <class P, class I, class B> GRADER_INLINE I min_element(const P& policy, I first, I last, B before) {
    return first + result_of<::std::ptrdiff_t>(policy, "thrust::min_element", [in = raw(first), count = last - first, before] {
        ::std::ptrdiff_t best = 0;
        for (auto i = count * 0; i < count; ++i) if (before(in[i], in[best])) best = i;
        return best;
    });
}
template <class P, class I> GRADER_INLINE I max_element(const P& policy, I first, I last) { return max_element(policy, first, last, ::grader::Less()); }
template <class P, class I> GRADER_INLINE I min_element(const P& policy, I first, I last) { return min_element(policy, first, last, ::grader::Less()); }

template <class P, class I, class O, class G> GRADER_INLINE O inclusive_scan(const P& policy, I first, I last, O result, G operation) {
    perform(policy, "thrust::inclusive_scan", [in = raw(first), out = raw(result), count = last - first, operation] {
        ValueOf<I> value = ValueOf<I>();
        for (auto i = count * 0; i < count; ++i) {
            value = i == 0 ? ValueOf<I>(in[i]) : ValueOf<I>(operation(value, in[i]));
            out[i] = value;
        }
    });
    return result + (last - first);
}
template <class P, class I, class O> GRADER_INLINE O inclusive_scan(const P& policy, I first, I last, O result) {
    return inclusive_scan(policy, first, last, result, ::grader::Add());
}
template <class P, class I, class O, class T, class G> GRADER_INLINE O exclusive_scan(const P& policy, I first, I last, O result, T initial, G operation) {
    perform(policy, "thrust::exclusive_scan", [in = raw(first), out = raw(result), count = last - first, initial, operation] {
        T value = initial;
        for (auto i = count * 0; i < count; ++i) {
            const T next = operation(value, in[i]);
            out[i] = value;
            value = next;
        }
    });
    return result + (last - first);
}
template <class P, class I, class O, class T> GRADER_INLINE O exclusive_scan(const P& policy, I first, I last, O result, T initial) {
    return exclusive_scan(policy, first, last, result, initial, ::grader::Add());
}
template <class P, class I, class O> GRADER_INLINE O exclusive_scan(const P& policy, I first, I last, O result) {
    return exclusive_scan(policy, first, last, result, ValueOf<I>());
}

template <class P, class K, class V, class B> GRADER_INLINE void sort_by_key(const P& policy, K first, K last, V values, B before) {
    const size_t size = size_t(last - first);
    if (size < 2) return;
    auto* keys = spare<ValueOf<K>>(policy, size);
    auto* others = spare<ValueOf<V>>(policy, size);
    perform(policy, "thrust::sort", [in = raw(first), with = raw(values), keys, others, size, before] {
        ::grader::merge_sort(in, with, keys, others, size, before);
    });
    drop(policy, keys);
    drop(policy, others);
}
template <class P, class K, class V> GRADER_INLINE void sort_by_key(const P& policy, K first, K last, V values) { sort_by_key(policy, first, last, values, ::grader::Less()); }
template <class P, class I, class B> GRADER_INLINE void sort(const P& policy, I first, I last, B before) {
    const size_t size = size_t(last - first);
    if (size < 2) return;
    auto* keys = spare<ValueOf<I>>(policy, size);
    perform(policy, "thrust::sort", [in = raw(first), keys, size, before] {
        ::grader::merge_sort(in, ::grader::NoValues(), keys, ::grader::NoValues(), size, before);
    });
    drop(policy, keys);
}
template <class P, class I> GRADER_INLINE void sort(const P& policy, I first, I last) { sort(policy, first, last, ::grader::Less()); }
template <class P, class... A> GRADER_INLINE void stable_sort(const P& policy, A... arguments) { sort(policy, arguments...); }
template <class P, class... A> GRADER_INLINE void stable_sort_by_key(const P& policy, A... arguments) { sort_by_key(policy, arguments...); }

template <class P, class I, class O> GRADER_INLINE O copy(const P& policy, I first, I last, O result) {
    perform(policy, "thrust::copy", [in = raw(first), out = raw(result), count = last - first] {
        for (auto i = count * 0; i < count; ++i) out[i] = in[i];
    });
    return result + (last - first);
}
template <class I, class O> GRADER_INLINE O copy_between(I first, I last, O result) {
    if constexpr (IsDevice<I>::value == IsDevice<O>::value) {
        return copy(Policy<IsDevice<I>::value>(), first, last, result);
    } else if constexpr (IsDevice<O>::value) {
        to_device(first, last, result.get());
    } else {
        const device_vector<ValueOf<I>> device(first, last);
        const host_vector<ValueOf<I>> host(device);
        ::std::copy(host.begin(), host.end(), result);
    }
    return result + (last - first);
}

}  // namespace grader_detail

namespace cuda {
static const grader_detail::Policy<true> par, par_nosync;
}
static const grader_detail::Policy<true> device;
static const grader_detail::Policy<false> host, seq;

// With a policy, or without one.
#define GRADER_ALGORITHM(name)                                                                             \
    template <class First, class... Rest> GRADER_INLINE auto name(const First& first, const Rest&... rest) { \
        if constexpr (grader_detail::is_policy<First>) {                                                   \
            return grader_detail::name(first, rest...);                                                    \
        } else {                                                                                           \
            constexpr bool device = (grader_detail::IsDevice<First>::value || ... || grader_detail::IsDevice<Rest>::value); \
            return grader_detail::name(grader_detail::Policy<device>(), first, rest...);                   \
        }                                                                                                  \
    }
GRADER_ALGORITHM(fill)
GRADER_ALGORITHM(sequence)
GRADER_ALGORITHM(transform)
GRADER_ALGORITHM(for_each)
GRADER_ALGORITHM(transform_reduce)
GRADER_ALGORITHM(reduce)
GRADER_ALGORITHM(inner_product)
GRADER_ALGORITHM(count)
GRADER_ALGORITHM(count_if)
GRADER_ALGORITHM(max_element)
GRADER_ALGORITHM(min_element)
GRADER_ALGORITHM(inclusive_scan)
GRADER_ALGORITHM(exclusive_scan)
GRADER_ALGORITHM(sort)
GRADER_ALGORITHM(stable_sort)
GRADER_ALGORITHM(sort_by_key)
GRADER_ALGORITHM(stable_sort_by_key)
#undef GRADER_ALGORITHM
// Between host and device, whatever the other arguments.
template <class First, class... Rest> GRADER_INLINE auto copy(const First& first, const Rest&... rest) {
    if constexpr (grader_detail::is_policy<First>) return grader_detail::copy(first, rest...);
    else return grader_detail::copy_between(first, rest...);
}

}  // namespace thrust
