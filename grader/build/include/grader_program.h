// The shim between a student's main and the student's kernel. After each call of the entry it reads
// one element of one output and writes it back, changed or not.
//
//   judge ──page (descriptor 3)──→ at start: take and wipe the orders, close the descriptor
//                                  at each call: write an observation into the page
//
// Runs with and without a change make the same calls, take the same time and use the same names and
// files; only the bytes of the element differ. Within a run the same element of an array of one size
// gets the same change, so a program learns nothing by comparing two calls.
//
// grader/checks/program/control_page.py repeats the page's layout.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <type_traits>

#include <sys/mman.h>
#include <unistd.h>

#include <cuda_runtime.h>

namespace grader_program {

using Size = long long;
constexpr int MOST_EXTENTS = 4;

struct Orders {
    std::uint64_t token;     // repeated in the observation, to prove that the shim wrote it
    std::uint64_t change;    // 1: the element is changed, 0: written back as it was
    std::uint64_t output;    // which output argument, from 0
    std::uint64_t last;      // 1: its last element, 0: the element that `pick` selects
    std::uint64_t pick;
    std::uint64_t negative;  // 1: the change is downwards
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
inline double moved(double value, double largest)
{
    if (!std::isfinite(value)) return 1.0;
    if (std::fabs(value) > largest / 8) return -value / 2;
    const double distance = 16.0 + 4.0 * std::fabs(value);
    return orders.negative ? value - distance : value + distance;
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

// Read one element and write it back; false if it cannot be copied.
template <class Kind, class T>
bool touch(T* at, bool on_host, double* before, double* after)
{
    T value;
    // cudaMemcpyDefault, because managed and pinned memory are legal outputs, too.
    if (on_host)
        value = *at;
    else if (cudaMemcpy(&value, at, sizeof value, cudaMemcpyDefault) != cudaSuccess)
        return false;
    T other = changed(value, Kind());
    *before = plain(value, Kind());
    *after = plain(other, Kind());
    if (!orders.change) other = value;
    if (on_host)
        *at = other;
    else if (cudaMemcpy(at, &other, sizeof other, cudaMemcpyDefault) != cudaSuccess)
        return false;
    return true;
}

// Called after the entry has returned: `values` is one of its outputs, of these extents.
template <class Kind, class T>
void after_call(T* values, std::initializer_list<Size> extents, bool on_host)
{
    Size count = 1;
    for (Size extent : extents)
        if (extent <= 0 || __builtin_mul_overflow(count, extent, &count)) return;
    Size index = count - 1;
    if (!orders.last && count > 1) index = Size(orders.pick % std::uint64_t(count - 1));
    const cudaError_t earlier = cudaPeekAtLastError();
    double before, after;
    if (!touch<Kind>(values + index, on_host, &before, &after)) {
        ++page->observation.refused;
        // Clear the shim's own error, so that it does not look like the student's.
        if (earlier == cudaSuccess) cudaGetLastError();
        return;
    }
    if (page->observation.touched++ > 0) return;
    page->observation.index = index;
    page->observation.before = before;
    page->observation.after = after;
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
