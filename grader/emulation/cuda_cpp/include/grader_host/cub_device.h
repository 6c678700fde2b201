// CUB's device-wide algorithms, written for the emulation: each is a launch of one thread.
//
// The first call, without temporary storage, returns its size, which is one byte.
#pragma once

#include "cub_block.h"

namespace cub {

#define GRADER_SIZE_OF_STORAGE \
    if (!storage) {            \
        bytes = 1;             \
        return cudaSuccess;    \
    }

struct DeviceReduce {
    template <class I, class O, class N, class Operation, class T>
    GRADER_INLINE static cudaError_t Reduce(void* storage, size_t& bytes, I given, O result, N count, Operation operation, T initial,
                                            cudaStream_t stream = nullptr) {
        GRADER_SIZE_OF_STORAGE
        return ::grader::library_launch("cub::DeviceReduce", stream, [in = ::grader::raw(given), out = ::grader::raw(result), count, operation, initial] {
            auto value = initial;
            for (N i = 0; i < count; ++i) value = operation(value, in[i]);
            *out = value;
        });
    }
    template <class I, class O, class N>
    GRADER_INLINE static cudaError_t Sum(void* storage, size_t& bytes, I in, O out, N count, cudaStream_t stream = nullptr) {
        return Reduce(storage, bytes, in, out, count, ::cub::Sum(), ::grader::ValueOf<I>(), stream);
    }
    template <class I, class O, class N>
    GRADER_INLINE static cudaError_t Max(void* storage, size_t& bytes, I in, O out, N count, cudaStream_t stream = nullptr) {
        return Reduce(storage, bytes, in, out, count, ::cub::Max(), ::std::numeric_limits<::grader::ValueOf<I>>::lowest(), stream);
    }
    template <class I, class O, class N>
    GRADER_INLINE static cudaError_t Min(void* storage, size_t& bytes, I in, O out, N count, cudaStream_t stream = nullptr) {
        return Reduce(storage, bytes, in, out, count, ::cub::Min(), ::std::numeric_limits<::grader::ValueOf<I>>::max(), stream);
    }
};

struct DeviceScan {
    template <class I, class O, class Operation, class T, class N>
    GRADER_INLINE static cudaError_t ExclusiveScan(void* storage, size_t& bytes, I given, O result, Operation operation, T initial, N count,
                                                   cudaStream_t stream = nullptr) {
        GRADER_SIZE_OF_STORAGE
        return ::grader::library_launch("cub::DeviceScan", stream, [in = ::grader::raw(given), out = ::grader::raw(result), count, operation, initial] {
            auto value = initial;
            for (N i = 0; i < count; ++i) {
                const auto next = operation(value, in[i]);
                out[i] = value;
                value = next;
            }
        });
    }
    template <class I, class O, class Operation, class N>
    GRADER_INLINE static cudaError_t InclusiveScan(void* storage, size_t& bytes, I given, O result, Operation operation, N count,
                                                   cudaStream_t stream = nullptr) {
        GRADER_SIZE_OF_STORAGE
        return ::grader::library_launch("cub::DeviceScan", stream, [in = ::grader::raw(given), out = ::grader::raw(result), count, operation] {
            ::grader::ValueOf<I> value;
            for (N i = 0; i < count; ++i) {
                if (i == 0) value = in[i];
                else value = operation(value, in[i]);
                out[i] = value;
            }
        });
    }
    template <class I, class O, class N>
    GRADER_INLINE static cudaError_t ExclusiveSum(void* storage, size_t& bytes, I in, O out, N count, cudaStream_t stream = nullptr) {
        return ExclusiveScan(storage, bytes, in, out, Sum(), ::grader::ValueOf<I>(), count, stream);
    }
    template <class I, class O, class N>
    GRADER_INLINE static cudaError_t InclusiveSum(void* storage, size_t& bytes, I in, O out, N count, cudaStream_t stream = nullptr) {
        return InclusiveScan(storage, bytes, in, out, Sum(), count, stream);
    }
};

struct DeviceHistogram {
    template <class I, class C, class L, class N>
    GRADER_INLINE static cudaError_t HistogramEven(void* storage, size_t& bytes, I given, C* counts, int levels, L lower, L upper, N count,
                                                   cudaStream_t stream = nullptr) {
        GRADER_SIZE_OF_STORAGE
        return ::grader::library_launch("cub::DeviceHistogram", stream, [in = ::grader::raw(given), counts, levels, lower, upper, count] {
            for (int bin = 0; bin < levels - 1; ++bin) counts[bin] = 0;
            for (N i = 0; i < count; ++i) {
                const auto sample = in[i];
                if (sample < lower || !(sample < upper)) continue;
                if constexpr (::std::is_integral<L>::value) ++counts[int((long long)(sample - lower) * (levels - 1) / (long long)(upper - lower))];
                else ++counts[int((sample - lower) * (L(levels - 1) / (upper - lower)))];
            }
        });
    }
};

// The order of a radix sort: that of the keys' bits from `begin` to before `end`, which are turned so that
// those of numbers are in order. Zeros are equal, and NaN is the largest number or the least, by its sign.
template <class K, bool descending> struct GraderByBits {
    int begin, end;

    static unsigned long long bits(K key) {
        typedef ::std::conditional_t<sizeof(K) == 1, unsigned char, ::std::conditional_t<sizeof(K) == 2, unsigned short,
                ::std::conditional_t<sizeof(K) == 4, unsigned, unsigned long long>>> Word;
        constexpr Word sign = Word(Word(1) << (sizeof(K) * 8 - 1));
        const Word word = __builtin_bit_cast(Word, key);
        if constexpr (::std::is_integral<K>::value) return ::std::is_signed<K>::value ? Word(word ^ sign) : word;
        else return word == sign ? sign : word & sign ? Word(~word) : Word(word | sign);
    }
    unsigned long long digits(K key) const {
        const unsigned long long from_begin = bits(key) >> begin;
        return end - begin < 64 ? from_begin & ((1ull << (end - begin)) - 1) : from_begin;
    }
    GRADER_INLINE bool operator()(const K& a, const K& b) const { return descending ? digits(b) < digits(a) : digits(a) < digits(b); }
};

struct DeviceRadixSort {
    template <class K, class N>
    GRADER_INLINE static cudaError_t SortKeys(void* storage, size_t& bytes, const K* in, K* out, N count, int begin = 0, int end = sizeof(K) * 8,
                                              cudaStream_t stream = nullptr) {
        return sort(storage, bytes, in, out, ::grader::NoValues(), ::grader::NoValues(), count, stream, GraderByBits<K, false>{begin, end});
    }
    template <class K, class N>
    GRADER_INLINE static cudaError_t SortKeysDescending(void* storage, size_t& bytes, const K* in, K* out, N count, int begin = 0, int end = sizeof(K) * 8,
                                                        cudaStream_t stream = nullptr) {
        return sort(storage, bytes, in, out, ::grader::NoValues(), ::grader::NoValues(), count, stream, GraderByBits<K, true>{begin, end});
    }
    template <class K, class V, class N>
    GRADER_INLINE static cudaError_t SortPairs(void* storage, size_t& bytes, const K* in, K* out, const V* values, V* values_out, N count,
                                               int begin = 0, int end = sizeof(K) * 8, cudaStream_t stream = nullptr) {
        return sort(storage, bytes, in, out, values, values_out, count, stream, GraderByBits<K, false>{begin, end});
    }
    template <class K, class V, class N>
    GRADER_INLINE static cudaError_t SortPairsDescending(void* storage, size_t& bytes, const K* in, K* out, const V* values, V* values_out,
                                                         N count, int begin = 0, int end = sizeof(K) * 8, cudaStream_t stream = nullptr) {
        return sort(storage, bytes, in, out, values, values_out, count, stream, GraderByBits<K, true>{begin, end});
    }

private:
    template <class V> struct Pointed { typedef char type; };
    template <class V> struct Pointed<V*> { typedef V type; };
    template <class K, class V, class W, class N, class Before>
    GRADER_INLINE static cudaError_t sort(void* storage, size_t& bytes, const K* in, K* out, V values, W values_out, N count,
                                          cudaStream_t stream, Before before) {
        typedef typename Pointed<W>::type Value;
        constexpr bool with_values = !::std::is_same<W, ::grader::NoValues>::value;
        const size_t begin_of_values = (size_t(count) * sizeof(K) + 15) / 16 * 16;
        if (!storage) {
            bytes = begin_of_values + size_t(count) * sizeof(Value) + 1;
            return cudaSuccess;
        }
        return ::grader::library_launch("cub::DeviceRadixSort", stream, [=] {
            for (N i = 0; i < count; ++i) {
                out[i] = in[i];
                if constexpr (with_values) values_out[i] = values[i];
            }
            ::grader::merge_sort(out, values_out, static_cast<K*>(storage), reinterpret_cast<Value*>(static_cast<char*>(storage) + begin_of_values),
                                 size_t(count), before);
        });
    }
};

struct DeviceSelect {
    template <class I, class O, class C, class N, class Wanted>
    GRADER_INLINE static cudaError_t If(void* storage, size_t& bytes, I given, O result, C selected, N count, Wanted wanted,
                                        cudaStream_t stream = nullptr) {
        GRADER_SIZE_OF_STORAGE
        return ::grader::library_launch("cub::DeviceSelect", stream, [in = ::grader::raw(given), out = ::grader::raw(result), selected, count, wanted] {
            N kept = 0;
            for (N i = 0; i < count; ++i)
                if (wanted(in[i])) out[kept++] = in[i];
            *selected = kept;
        });
    }
    template <class I, class F, class O, class C, class N>
    GRADER_INLINE static cudaError_t Flagged(void* storage, size_t& bytes, I given, F flags, O result, C selected, N count,
                                             cudaStream_t stream = nullptr) {
        GRADER_SIZE_OF_STORAGE
        return ::grader::library_launch("cub::DeviceSelect", stream, [in = ::grader::raw(given), flags, out = ::grader::raw(result), selected, count] {
            N kept = 0;
            for (N i = 0; i < count; ++i)
                if (flags[i]) out[kept++] = in[i];
            *selected = kept;
        });
    }
};
#undef GRADER_SIZE_OF_STORAGE

}  // namespace cub
