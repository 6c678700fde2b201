// The shim between a student's main and the student's kernel. After each call of the entry it reads
// elements of one output and writes them back, changed or not.
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
enum Change : std::uint64_t { FAR_UP, FAR_DOWN, NOT_A_NUMBER, INFINITE, SLIGHT, EXCHANGED, ALL_ZERO };
// Which element: any but the last, the last, the end of a row, one in an even or an odd column.
enum Place : std::uint64_t { ANY, LAST, ROW_END, EVEN_COLUMN, ODD_COLUMN };

struct Orders {
    std::uint64_t token;   // repeated in the observation, to prove that the shim wrote it
    std::uint64_t change;  // 1: the element is changed, 0: written back as it was
    std::uint64_t output;  // which output argument, from 0
    std::uint64_t place;
    std::uint64_t pick;    // selects the element
    std::uint64_t kind;
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

inline double moved(double value, double largest)
{
    if (orders.kind == NOT_A_NUMBER && !std::isnan(value)) return NAN;
    if (orders.kind == INFINITE && !std::isinf(value)) return value < 0 ? -INFINITY : INFINITY;
    // More than rounding, and less than a wide tolerance.
    if (orders.kind == SLIGHT && std::fabs(value) < largest / 8) return value + 0.02 * std::fabs(value) + 0.02;
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

// Which element, of an array of `count` with rows of `columns`.
inline Size chosen(Size count, Size columns)
{
    const Size row = Size(orders.pick % std::uint64_t(count / columns)) * columns;
    const Size column = Size((orders.pick >> 20) % std::uint64_t(columns));
    switch (orders.place) {
        case LAST: return count - 1;
        case ROW_END: return row + columns - 1;
        case EVEN_COLUMN: return row + column / 2 * 2;
        case ODD_COLUMN: return row + (columns > 1 ? std::min(column | 1, (columns - 2) | 1) : 0);
        default: return count > 1 ? Size(orders.pick % std::uint64_t(count - 1)) : 0;
    }
}

// The values of an output: read as a whole, changed in a copy, and written back.
template <class Kind, class T> struct Values {
    T* at;
    Size count;

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

    // Change `index`; returns the kind of the change.
    std::uint64_t change(Size index) const
    {
        if (orders.kind == ALL_ZERO) {
            const T value = at[index];
            bool any = false;
            for (Size i = 0; i < count; ++i) {
                any = any || !same(at[i], T());
                at[i] = T();
            }
            if (any) return ALL_ZERO;
            at[index] = value;
        }
        if (orders.kind == EXCHANGED)
            for (Size i = 1; i < 1000; ++i) {
                const Size other = (index + i * (count / 1000 + 1)) % count;
                const double here = plain(at[index], Kind()), there = plain(at[other], Kind());
                if (!(std::fabs(there - here) > 0.02 * std::fabs(here) + 0.02)) continue;  // as far as SLIGHT
                std::swap(at[index], at[other]);
                return EXCHANGED;
            }
        at[index] = changed(at[index], Kind());
        return orders.kind < EXCHANGED && Kind::value ? orders.kind : std::uint64_t(FAR_UP);
    }
};

// Called after the entry has returned: `values` is one of its outputs, of these extents.
template <class Kind, class T>
void after_call(T* values, std::initializer_list<Size> extents, bool on_host)
{
    Size count = 1;
    for (Size extent : extents)
        if (extent <= 0 || __builtin_mul_overflow(count, extent, &count)) return;
    const cudaError_t earlier = cudaPeekAtLastError();
    std::vector<T> copies(static_cast<std::size_t>(count));
    bool copied = copy(copies.data(), static_cast<const T*>(values), count, on_host);
    Size index = chosen(count, *(extents.end() - 1));
    double before = 0, after = 0;
    std::uint64_t kind = 0;
    if (copied) {
        const Values<Kind, T> all{copies.data(), count};
        if (orders.kind == SLIGHT || orders.kind == EXCHANGED) index = all.large(index);
        before = plain(copies[std::size_t(index)], Kind());
        std::vector<T> unchanged = copies;
        kind = all.change(index);
        after = plain(copies[std::size_t(index)], Kind());
        copied = copy(values, static_cast<const T*>(orders.change ? copies.data() : unchanged.data()), count, on_host);
    }
    if (!copied) {
        ++page->observation.refused;
        // Clear the shim's own error, so that it does not look like the student's.
        if (earlier == cudaSuccess) cudaGetLastError();
        return;
    }
    if (page->observation.touched++ > 0) return;
    page->observation.index = index;
    page->observation.before = before;
    page->observation.after = after;
    page->observation.kind = kind;
    for (Size extent : extents) page->observation.extents[page->observation.extents_count++] = extent;
}

// Count a call; true if the outputs can be read.
inline bool called()
{
    page->observation.token = orders.token;
    ++page->observation.calls;
    return cudaDeviceSynchronize() == cudaSuccess;
}

}  // namespace
}  // namespace grader_program
