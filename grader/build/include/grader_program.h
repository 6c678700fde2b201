// The shim between a student's main and the student's kernel. Around each call of the entry it reads
// one output, and afterwards writes it back, changed or not. It stands between the program and the
// CUDA runtime as well, to know the first call that fails.
//
//   judge ──page (descriptor 3)──→ at start: take and wipe the orders, close the descriptor
//                                  at each call: write an observation into the page
//
// Runs with and without a change make the same calls, take the same time and use the same names and
// files; only the bytes of the elements differ. Within a run the same element of an array of one size
// gets the same change, so a program learns nothing by comparing two calls.
//
// grader/checks/program/control_page.py repeats the page's layout.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <cuda_runtime.h>

namespace grader_program {

using Size = long long;
constexpr int MOST_EXTENTS = 4;

// What becomes of the element. Integers have no NaN, infinity or small change: they move far.
enum Change : std::uint64_t {
    FAR_UP, FAR_DOWN, NOT_A_NUMBER, INFINITE, SLIGHT, EXCHANGED, ALL_ZERO, WHOLE_TILE, NEVER_WRITTEN
};
// Which element: any but the last, one of the four corners, the end of a row, one in an even row and
// column or in an odd row and column.
enum Place : std::uint64_t { ANY, LAST, ROW_END, EVEN, ODD, FIRST, TOP_RIGHT, BOTTOM_LEFT };

struct Orders {
    std::uint64_t token;   // repeated in the observation, to prove that the shim wrote it
    std::uint64_t change;  // 1: the element is changed, 0: written back as it was
    std::uint64_t output;  // which output argument, from 0
    std::uint64_t place;
    std::uint64_t pick;    // selects the element
    std::uint64_t kind;
    double slight;         // SLIGHT moves a value by this share of itself, or of 1 if that is more
};

struct Observation {
    std::uint64_t token;
    std::uint64_t calls;    // of the entry
    std::uint64_t touched;  // calls after which an element was read and written back
    std::uint64_t refused;  // calls after which the output could not be copied
    Size index;             // of the first touched element, in an array of `extents`
    std::uint64_t extents_count;
    Size extents[MOST_EXTENTS];
    double before, after;
    std::uint64_t kind;     // of the change
    std::uint64_t elements; // that were changed in the first touched array
    std::uint64_t failed_at;  // the program's offset after the first CUDA call that failed; 0: none
    char failed_call[32], failed_why[96];
};

struct Page {
    Orders orders;
    Observation observation;
};

namespace {

constexpr int DESCRIPTOR = 3;
constexpr std::size_t PAGE_BYTES = 4096;
constexpr int NO_ORDERS = 125;

Page* page;
Orders orders;

// Runs before every constructor, so before any of the student's code.
void take_orders(int, char**, char**)
{
    void* at = mmap(nullptr, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, DESCRIPTOR, 0);
    if (at == MAP_FAILED) _exit(NO_ORDERS);
    close(DESCRIPTOR);
    page = static_cast<Page*>(at);
    orders = page->orders;
    page->orders = Orders();
}
__attribute__((section(".preinit_array"), used)) void (*const at_start)(int, char**, char**) =
    take_orders;

// ---- arithmetic on sizes, with Python's division ----

inline Size plus(Size a, Size b) { return a + b; }
inline Size minus(Size a, Size b) { return a - b; }
inline Size times(Size a, Size b) { return a * b; }
inline Size least(Size a, Size b) { return a < b ? a : b; }
inline Size most(Size a, Size b) { return a > b ? a : b; }
inline Size modulo(Size a, Size b) { return b == 0 ? 0 : (a % b + b) % b; }
inline Size divide(Size a, Size b) { return b == 0 ? 0 : (a - modulo(a, b)) / b; }
inline Size divide_up(Size a, Size b) { return -divide(-a, b); }
inline Size power(Size a, Size b)
{
    Size product = 1;
    for (; b > 0; --b) product *= a;
    return product;
}

// ---- values ----

// A finite value, further away than any sensible tolerance: by 16 plus four times the value.
inline double far(double value, double largest)
{
    if (!std::isfinite(value)) return 1.0;
    if (std::fabs(value) > largest / 8) return -value / 2;
    const double distance = 16.0 + 4.0 * std::fabs(value);
    return orders.kind == FAR_DOWN ? value - distance : value + distance;
}

inline double slight(double value) { return orders.slight * std::max(1.0, std::fabs(value)); }

inline double moved(double value, double largest)
{
    if (orders.kind == NOT_A_NUMBER && !std::isnan(value)) return NAN;
    if (orders.kind == INFINITE && !std::isinf(value)) return value < 0 ? -INFINITY : INFINITY;
    // More than rounding, and less than a wide tolerance.
    if (orders.kind == SLIGHT && std::fabs(value) < largest / 8) return value + slight(value);
    return far(value, largest);
}

using Real = std::true_type;
using Whole = std::false_type;

// 16-bit types convert without ambiguity to float only.
template <class T> double plain(T value, Real) { return double(float(value)); }
template <class T> double plain(T value, Whole) { return double(value); }
inline double plain(double value, Real) { return value; }

template <class T> T changed(T value, Real)
{
    return T(float(moved(plain(value, Real()), sizeof(T) == 2 ? 6.0e4 : 3.0e38)));
}
inline double changed(double value, Real) { return moved(value, 1e300); }

// Flip a high bit, which moves the value by a quarter of the type's range.
template <class T> T changed(T value, Whole)
{
    return T(value ^ (T(1) << (8 * sizeof(T) - 2)));
}

// cudaMemcpyDefault, because managed and pinned memory are legal outputs, too.
template <class T> bool copy(T* to, const T* from, Size count, bool on_host)
{
    const std::size_t bytes = std::size_t(count) * sizeof(T);
    if (on_host) return std::memcpy(to, from, bytes);
    return cudaMemcpy(to, from, bytes, cudaMemcpyDefault) == cudaSuccess;
}

template <class T> bool same(T a, T b) { return !std::memcmp(&a, &b, sizeof a); }

// The odd number at `i` or beside it below `count`, 0 if there is none.
inline Size odd(Size i, Size count) { return count > 1 ? std::min(i | 1, (count - 2) | 1) : 0; }

// Which element, of an array of `count` with rows of `columns`.
inline Size chosen(Size count, Size columns)
{
    const Size rows = count / columns;
    const Size row = Size(orders.pick % std::uint64_t(rows));
    const Size column = Size((orders.pick >> 20) % std::uint64_t(columns));
    switch (orders.place) {
        case FIRST: return 0;
        case LAST: return count - 1;
        case TOP_RIGHT: return columns - 1;
        case BOTTOM_LEFT: return count - columns;
        case ROW_END: return (row + 1) * columns - 1;
        case EVEN: return row / 2 * 2 * columns + column / 2 * 2;
        case ODD: return odd(row, rows) * columns + odd(column, columns);
        default: return count > 1 ? Size(orders.pick % std::uint64_t(count - 1)) : 0;
    }
}

constexpr Size TILE = 16;  // 256 elements, so that their number as an exit code is 0

// The values of an output: read as a whole, changed in a copy, and written back.
template <class Kind, class T> struct Values {
    T* at;
    Size count, columns;
    const T* before;  // the call
    bool also_input;

    // Change a square around `index`, or a stretch of as many elements; returns its first element.
    Size tile(Size index, std::uint64_t& elements) const
    {
        const bool square = columns >= TILE && count / columns >= TILE;
        const Size high = square ? TILE : 1, wide = square ? TILE : std::min(count, TILE * TILE);
        const Size across = square ? columns : count;
        const Size row = std::min(index / across, count / across - high);
        const Size first = row * across + std::min(index % across, across - wide);
        for (Size i = 0; i < high; ++i)
            for (Size j = 0; j < wide; ++j) at[first + i * across + j] = changed(at[first + i * across + j], Kind());
        elements = std::uint64_t(high * wide);
        return first;
    }

    bool empty() const
    {
        return std::all_of(at, at + count, [](T value) { return same(value, T()); });
    }

    // Put `other(i)` in the place of every element; false if nothing changes by it.
    template <class F> bool all(F other) const
    {
        bool any = false;
        for (Size i = 0; i < count; ++i) any = any || !same(at[i], other(i));
        for (Size i = 0; any && i < count; ++i) at[i] = other(i);
        return any;
    }

    // Where a small change shows: the largest of some elements.
    Size large(Size from) const
    {
        Size best = from;
        for (Size i = 1; i < 64; ++i) {
            const Size other = (from + i * (count / 64 + 1)) % count;
            if (std::fabs(plain(at[other], Kind())) > std::fabs(plain(at[best], Kind()))) best = other;
        }
        return best;
    }

    // Change `index`, which becomes the first of several; returns the kind of the change.
    std::uint64_t change(Size& index, std::uint64_t& elements) const
    {
        elements = std::uint64_t(count);
        if (orders.kind == ALL_ZERO && all([](Size) { return T(); })) return ALL_ZERO;
        // If the results were there before, as a rule nobody can tell. Zeros may be there by chance.
        if (orders.kind == NEVER_WRITTEN && (all([this](Size i) { return before[i]; }) || (!also_input && !empty())))
            return NEVER_WRITTEN;
        if (orders.kind == WHOLE_TILE) {
            index = tile(index, elements);
            return WHOLE_TILE;
        }
        elements = 1;
        if (orders.kind == EXCHANGED)
            for (Size i = 1; i < 1000; ++i) {
                const Size other = (index + i * (count / 1000 + 1)) % count;
                const double here = plain(at[index], Kind()), there = plain(at[other], Kind());
                if (!(std::fabs(there - here) > slight(here))) continue;
                std::swap(at[index], at[other]);
                elements = 2;
                return EXCHANGED;
            }
        at[index] = changed(at[index], Kind());
        return orders.kind < EXCHANGED && Kind::value ? orders.kind : std::uint64_t(FAR_UP);
    }
};

// Set while the shim itself calls the CUDA runtime, or may clear an error of its own.
bool own_calls;

// The elements of an array of these extents, 0 if it has none.
inline Size elements_of(std::initializer_list<Size> extents)
{
    Size count = 1;
    for (Size extent : extents)
        if (extent <= 0 || __builtin_mul_overflow(count, extent, &count)) return 0;
    return count;
}

template <class T> std::vector<T>& values_before()
{
    static std::vector<T> values;
    return values;
}

template <class T> bool read(std::vector<T>& to, const T* from, Size count, bool on_host)
{
    to.assign(std::size_t(count), T());
    const cudaError_t earlier = cudaPeekAtLastError();
    const bool copied = copy(to.data(), from, count, on_host);
    // The shim's own error must not look like the student's.
    if (!copied && earlier == cudaSuccess) cudaGetLastError();
    return copied;
}

// Called before the entry: `values` is the output of the orders.
template <class Kind, class T>
void before_call(const T* values, std::initializer_list<Size> extents, bool on_host, bool)
{
    own_calls = true;
    read(values_before<T>(), values, elements_of(extents), on_host);
    own_calls = false;
}

// Called after the entry has returned.
template <class Kind, class T>
void after_call(T* values, std::initializer_list<Size> extents, bool on_host, bool also_input)
{
    const Size count = elements_of(extents);
    if (count == 0) return;
    own_calls = true;
    std::vector<T> copies;
    bool copied = read(copies, static_cast<const T*>(values), count, on_host);
    const Size columns = *(extents.end() - 1);
    Size index = chosen(count, columns);
    double before = 0, after = 0;
    std::uint64_t kind = 0, elements = 0;
    if (copied) {
        const Values<Kind, T> all{copies.data(), count, columns, values_before<T>().data(), also_input};
        if (orders.kind == SLIGHT || orders.kind == EXCHANGED) index = all.large(index);
        const std::vector<T> unchanged = copies;
        kind = all.change(index, elements);
        before = plain(unchanged[std::size_t(index)], Kind());
        after = plain(copies[std::size_t(index)], Kind());
        copied = copy(values, orders.change ? copies.data() : unchanged.data(), count, on_host);
    }
    own_calls = false;
    if (!copied) {
        ++page->observation.refused;
        return;
    }
    if (page->observation.touched++ > 0) return;
    page->observation.index = index;
    page->observation.before = before;
    page->observation.after = after;
    page->observation.kind = kind;
    page->observation.elements = elements;
    for (Size extent : extents) page->observation.extents[page->observation.extents_count++] = extent;
}

// Count a call; true if the outputs can be read.
inline bool called()
{
    page->observation.token = orders.token;
    ++page->observation.calls;
    own_calls = true;
    const bool sound = cudaDeviceSynchronize() == cudaSuccess;
    own_calls = false;
    return sound;
}

// ---- CUDA calls that fail ----

extern "C" const char __ehdr_start __attribute__((weak, visibility("hidden")));

inline void note(cudaError_t error, const char* call, const void* from)
{
    if (error == cudaSuccess || own_calls || page->observation.failed_at) return;
    std::strncpy(page->observation.failed_call, call, sizeof page->observation.failed_call - 1);
    std::strncpy(page->observation.failed_why, cudaGetErrorString(error), sizeof page->observation.failed_why - 1);
    page->observation.failed_at = std::uint64_t(static_cast<const char*>(from) - &__ehdr_start);
}

}  // namespace
}  // namespace grader_program

// The linker's --wrap leads every call of NAME here (build/main_shim.py lists them).
#define GRADER_WRAP(NAME, CALL, PARAMETERS, ARGUMENTS)                                   \
    extern "C" cudaError_t __real_##NAME PARAMETERS;                                     \
    extern "C" cudaError_t __wrap_##NAME PARAMETERS                                      \
    {                                                                                    \
        const cudaError_t error = __real_##NAME ARGUMENTS;                               \
        ::grader_program::note(error, CALL, __builtin_return_address(0));                \
        return error;                                                                    \
    }
GRADER_WRAP(cudaFree, "cudaFree", (void* at), (at))
GRADER_WRAP(cudaFreeHost, "cudaFreeHost", (void* at), (at))
GRADER_WRAP(cudaMemset, "cudaMemset", (void* at, int value, std::size_t bytes), (at, value, bytes))
GRADER_WRAP(cudaMemcpy, "cudaMemcpy", (void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind), (to, from, bytes, kind))
GRADER_WRAP(cudaDeviceSynchronize, "cudaDeviceSynchronize", (), ())
#ifdef GRADER_CHECKED  // without a GPU
GRADER_WRAP(grader_malloc, "cudaMalloc", (void** at, std::size_t bytes, const char* name), (at, bytes, name))
GRADER_WRAP(grader_malloc_host, "cudaMallocManaged or cudaMallocHost", (void** at, std::size_t bytes, int managed, const char* name), (at, bytes, managed, name))
GRADER_WRAP(grader_memcpy_async, "cudaMemcpyAsync", (void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind), (to, from, bytes, kind))
extern "C" void __real_grader_launch(const char*, dim3, dim3, std::size_t, cudaStream_t, void*, std::size_t, void (*)(void*));
extern "C" void __wrap_grader_launch(const char* name, dim3 grid, dim3 block, std::size_t shared, cudaStream_t stream,
                                     void* parameters, std::size_t bytes, void (*body)(void*))
{
    const cudaError_t earlier = cudaPeekAtLastError();
    __real_grader_launch(name, grid, block, shared, stream, parameters, bytes, body);
    if (earlier == cudaSuccess)
        ::grader_program::note(cudaPeekAtLastError(), "a launch", __builtin_return_address(0));
}
#else
GRADER_WRAP(cudaMalloc, "cudaMalloc", (void** at, std::size_t bytes), (at, bytes))
GRADER_WRAP(cudaMallocHost, "cudaMallocHost", (void** at, std::size_t bytes), (at, bytes))
GRADER_WRAP(cudaMallocManaged, "cudaMallocManaged", (void** at, std::size_t bytes, unsigned flags), (at, bytes, flags))
GRADER_WRAP(cudaMemcpyAsync, "cudaMemcpyAsync", (void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream), (to, from, bytes, kind, stream))
GRADER_WRAP(cudaLaunchKernel, "a launch", (const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared, cudaStream_t stream), (kernel, grid, block, arguments, shared, stream))
#endif
#undef GRADER_WRAP
