// The part of torch's C++ interface that CUDA source for `load_inline` may use in the grader:
// contiguous tensors in the memory of the device. The grader has allocated arguments and outputs; a
// tensor that is made here and has an output's size and type gets the memory of that output, so that
// it is compared where the kernel writes it, and no copy is timed.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <tuple>
#include <vector>

namespace inline_torch {

[[noreturn]] inline void fail(const char* what) {
    std::fprintf(stderr, "%s\n", what);
    std::fflush(stderr);
    std::abort();
}

// The address is the type's.
template <class T> inline const char* kind() {
    static const char mark = 0;
    return &mark;
}
template <class T> struct Plain { using type = T; };
template <class T> struct Plain<const T> { using type = T; };
template <> struct Plain<long> { using type = long long; };  // int64_t, which specs call long long
template <> struct Plain<const long> { using type = long long; };
template <> struct Plain<unsigned long> { using type = unsigned long long; };
template <> struct Plain<const unsigned long> { using type = unsigned long long; };

inline int64_t cdiv(int64_t a, int64_t b) { return b ? (a + b - 1) / b : 0; }
inline int64_t divided(int64_t a, int64_t b) { return b ? a / b : 0; }
inline int64_t rest(int64_t a, int64_t b) { return b ? a % b : 0; }
inline int64_t sum(int64_t a, int64_t b) { return a + b; }
inline int64_t difference(int64_t a, int64_t b) { return a - b; }
inline int64_t product(int64_t a, int64_t b) { return a * b; }
inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t most(int64_t a, int64_t b) { return a < b ? b : a; }
inline int64_t power(int64_t a, int64_t b) {
    int64_t result = 1;
    for (; b > 0; --b) result *= a;
    return result;
}

constexpr int MOST_EXTENTS = 8;
constexpr int MOST_OUTPUTS = 8;

// An output's memory, which one tensor at a time may have.
struct Place {
    void* data = nullptr;
    const char* kind = nullptr;
    int64_t bytes = 0;
    bool taken = false;
};
static Place places[MOST_OUTPUTS];

inline void check(cudaError_t error) {
    if (error != cudaSuccess) fail(cudaGetErrorString(error));
}

inline std::shared_ptr<void> allocate(const char* kind, int64_t bytes) {
    for (Place& place : places) {
        if (place.taken || place.kind != kind || place.bytes != bytes) continue;
        place.taken = true;
        Place* const mine = &place;
        return std::shared_ptr<void>(place.data, [mine](void*) { mine->taken = false; });
    }
    void* data = nullptr;
    if (bytes) check(cudaMalloc(&data, bytes));
    return std::shared_ptr<void>(data, [](void* old) { cudaFree(old); });
}

}  // namespace inline_torch

namespace torch {
class Tensor;
}
namespace inline_torch {
void* raw(const torch::Tensor& tensor);
}

namespace torch {

// A type of elements: `at::ScalarType`, and what `dtype()` returns.
struct Dtype {
    const char* kind;
    int64_t bytes;
    bool operator==(const Dtype& other) const { return kind == other.kind; }
    bool operator!=(const Dtype& other) const { return kind != other.kind; }
};
namespace {
template <class T> Dtype dtype_of() { return {inline_torch::kind<T>(), static_cast<int64_t>(sizeof(T))}; }
const Dtype kFloat32 = dtype_of<float>(), kFloat = kFloat32;
const Dtype kFloat64 = dtype_of<double>(), kDouble = kFloat64;
const Dtype kInt32 = dtype_of<int>(), kInt = kInt32;
const Dtype kInt64 = dtype_of<long long>(), kLong = kInt64;
const Dtype kInt16 = dtype_of<short>(), kShort = kInt16;
const Dtype kInt8 = dtype_of<signed char>(), kChar = kInt8;
const Dtype kUInt8 = dtype_of<unsigned char>(), kByte = kUInt8;
const Dtype kBool = dtype_of<bool>();
}  // namespace
using ScalarType = Dtype;

// All tensors are on the one device.
struct Device {
    bool is_cuda() const { return true; }
    bool operator==(const Device&) const { return true; }
    bool operator!=(const Device&) const { return false; }
};
namespace {
const Device kCUDA{};
}

struct TensorOptions {
    Dtype kind = kFloat32;
    TensorOptions() = default;
    TensorOptions(Dtype of) : kind(of) {}
    TensorOptions(Device) {}
    TensorOptions dtype(Dtype of) const { return TensorOptions(of); }
    TensorOptions device(Device) const { return *this; }
};
inline TensorOptions dtype(Dtype of) { return TensorOptions(of); }
inline TensorOptions device(Device) { return TensorOptions(); }

// The extents of a tensor, from braces, a vector or `sizes()`.
class IntArrayRef {
public:
    IntArrayRef(std::initializer_list<int64_t> sizes) : IntArrayRef(sizes.begin(), sizes.size()) {}
    IntArrayRef(const std::vector<int64_t>& sizes) : IntArrayRef(sizes.data(), sizes.size()) {}
    IntArrayRef(const int64_t* sizes, size_t count) : count_(static_cast<int>(count)) {
        if (count > inline_torch::MOST_EXTENTS) inline_torch::fail("a tensor has too many dimensions");
        for (int axis = 0; axis < count_; ++axis) sizes_[axis] = sizes[axis];
    }
    size_t size() const { return count_; }
    int64_t operator[](size_t axis) const { return sizes_[axis]; }
    const int64_t* begin() const { return sizes_; }
    const int64_t* end() const { return sizes_ + count_; }

private:
    int64_t sizes_[inline_torch::MOST_EXTENTS] = {};
    int count_ = 0;
};

class Tensor {
public:
    Tensor() : Tensor(static_cast<const float*>(nullptr), {0}) {}
    template <class T>
    Tensor(const T* data, std::initializer_list<int64_t> sizes)
        : data_(const_cast<T*>(data)), kind_(inline_torch::kind<T>()), bytes_(sizeof(T)) {
        for (int64_t size : sizes) {
            if (extents_ < inline_torch::MOST_EXTENTS) sizes_[extents_++] = size;
        }
    }
    // Memory of its own, uninitialised.
    Tensor(IntArrayRef sizes, Dtype of) : data_(nullptr), kind_(of.kind), bytes_(of.bytes) {
        for (int64_t size : sizes) {
            if (size < 0) inline_torch::fail("a tensor has a negative size");
            sizes_[extents_++] = size;
        }
        owner_ = inline_torch::allocate(kind_, numel() * bytes_);
        data_ = owner_.get();
    }

    template <class T> T* data_ptr() const {
        if (kind_ != inline_torch::kind<typename inline_torch::Plain<T>::type>())
            inline_torch::fail("data_ptr<T>(): T is not the type of the tensor's elements");
        return static_cast<T*>(data_);
    }
    template <class T> T* mutable_data_ptr() const { return data_ptr<T>(); }
    template <class T> const T* const_data_ptr() const { return data_ptr<const T>(); }

    int64_t dim() const { return extents_; }
    int64_t size(int64_t axis) const {
        const int64_t at = axis < 0 ? axis + extents_ : axis;
        if (at < 0 || at >= extents_) inline_torch::fail("size(i): the tensor has no such dimension");
        return sizes_[at];
    }
    int64_t numel() const {
        int64_t product = 1;
        for (int axis = 0; axis < extents_; ++axis) product *= sizes_[axis];
        return product;
    }
    int64_t stride(int64_t axis) const {
        size(axis);  // there is such a dimension
        int64_t product = 1;
        for (int64_t next = (axis < 0 ? axis + extents_ : axis) + 1; next < extents_; ++next) product *= sizes_[next];
        return product;
    }
    int64_t element_size() const { return bytes_; }
    IntArrayRef sizes() const { return IntArrayRef(sizes_, extents_); }
    Dtype scalar_type() const { return {kind_, bytes_}; }
    Dtype dtype() const { return scalar_type(); }
    Device device() const { return {}; }
    TensorOptions options() const { return TensorOptions(scalar_type()); }
    Tensor contiguous() const { return *this; }
    bool is_cuda() const { return true; }
    bool is_contiguous() const { return true; }

private:
    friend void* inline_torch::raw(const Tensor& tensor);
    std::shared_ptr<void> owner_;  // none for what the grader has allocated
    void* data_;
    const char* kind_;
    int64_t bytes_;
    int64_t sizes_[inline_torch::MOST_EXTENTS] = {};
    int extents_ = 0;
};

inline Tensor empty(IntArrayRef sizes, TensorOptions options = {}) { return Tensor(sizes, options.kind); }
inline Tensor zeros(IntArrayRef sizes, TensorOptions options = {}) {
    Tensor made(sizes, options.kind);
    void* const data = inline_torch::raw(made);
    if (data) inline_torch::check(cudaMemset(data, 0, made.numel() * made.element_size()));
    return made;
}
inline Tensor empty_like(const Tensor& other) { return empty(other.sizes(), other.options()); }
inline Tensor zeros_like(const Tensor& other) { return zeros(other.sizes(), other.options()); }
inline Tensor empty_like(const Tensor& other, TensorOptions options) { return empty(other.sizes(), options); }
inline Tensor zeros_like(const Tensor& other, TensorOptions options) { return zeros(other.sizes(), options); }

}  // namespace torch

namespace at {
using namespace torch;
}

namespace inline_torch {

inline void* raw(const torch::Tensor& tensor) { return tensor.data_; }

// The outputs of one call, and what the student's function has returned for them.
class Outputs {
public:
    Outputs(std::initializer_list<torch::Tensor> wanted) : wanted_(wanted) {
        for (size_t i = 0; i < wanted_.size() && i < MOST_OUTPUTS; ++i)
            places[i] = {raw(wanted_[i]), wanted_[i].scalar_type().kind, bytes(wanted_[i]), false};
    }
    ~Outputs() {
        for (Place& place : places) place = Place{};
    }
    void take(const torch::Tensor& one) { take(std::vector<torch::Tensor>{one}); }
    template <class... T> void take(const std::tuple<T...>& several) {
        std::apply([this](const auto&... each) { take(std::vector<torch::Tensor>{each...}); }, several);
    }
    // Copies what was not made in the output's own memory.
    void take(std::vector<torch::Tensor> returned) {
        if (returned.size() != wanted_.size()) fail("another number of tensors is returned than there are outputs");
        for (size_t i = 0; i < wanted_.size(); ++i) {
            if (returned[i].scalar_type() != wanted_[i].scalar_type())
                fail("a returned tensor has not the type of the output's elements");
            if (returned[i].numel() != wanted_[i].numel()) {
                std::fprintf(stderr, "a returned tensor has %lld elements, the output has %lld\n",
                             static_cast<long long>(returned[i].numel()), static_cast<long long>(wanted_[i].numel()));
                fail("the returned tensor has another size than the output");
            }
        }
        std::vector<void*> aside(wanted_.size(), nullptr);
        for (size_t i = 0; i < wanted_.size(); ++i) {  // first those in the memory of another output
            if (!moves(returned[i], i)) continue;
            for (const torch::Tensor& other : wanted_) {
                if (raw(returned[i]) != raw(other)) continue;
                check(cudaMalloc(&aside[i], bytes(wanted_[i])));
                check(cudaMemcpy(aside[i], raw(returned[i]), bytes(wanted_[i]), cudaMemcpyDeviceToDevice));
                break;
            }
        }
        for (size_t i = 0; i < wanted_.size(); ++i) {
            if (!moves(returned[i], i)) continue;
            const void* const from = aside[i] ? aside[i] : raw(returned[i]);
            check(cudaMemcpy(raw(wanted_[i]), from, bytes(wanted_[i]), cudaMemcpyDeviceToDevice));
            if (aside[i]) check(cudaFree(aside[i]));
        }
    }

private:
    static int64_t bytes(const torch::Tensor& one) { return one.numel() * one.element_size(); }
    bool moves(const torch::Tensor& returned, size_t i) const {
        return bytes(wanted_[i]) && raw(returned) != raw(wanted_[i]);
    }
    std::vector<torch::Tensor> wanted_;
};

}  // namespace inline_torch

#define C10_CUDA_CHECK(...) ::inline_torch::check(__VA_ARGS__)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() ::inline_torch::check(cudaGetLastError())

#define TORCH_CHECK(condition, ...) \
    ((condition) ? (void)0 : inline_torch::fail("TORCH_CHECK(" #condition ") has failed"))
