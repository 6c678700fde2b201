// Thrust's vectors and pointers, written for the emulation.
//
// Host code reads and writes an element of a device_vector by a copy, as in Thrust.
#pragma once

#include <initializer_list>
#include <vector>

#include "library.h"

namespace thrust {

template <class T> class device_reference {
public:
    typedef T value_type;
    explicit device_reference(T* at) : at_(at) {}
    device_reference(const device_reference&) = default;
    GRADER_INLINE operator T() const {
        if (grader_in_kernel()) return *at_;
        T value;
        cudaMemcpy(&value, at_, sizeof(T), cudaMemcpyDeviceToHost);
        return value;
    }
    GRADER_INLINE const device_reference& operator=(const T& value) const {
        if (grader_in_kernel()) *at_ = value;
        else cudaMemcpy(at_, &value, sizeof(T), cudaMemcpyHostToDevice);
        return *this;
    }
    GRADER_INLINE const device_reference& operator=(const device_reference& other) const { return *this = T(other); }
    template <class U> GRADER_INLINE const device_reference& operator+=(const U& other) const { return *this = T(T(*this) + other); }
    template <class U> GRADER_INLINE const device_reference& operator-=(const U& other) const { return *this = T(T(*this) - other); }
    template <class U> GRADER_INLINE const device_reference& operator*=(const U& other) const { return *this = T(T(*this) * other); }
    device_ptr<T> operator&() const { return device_ptr<T>(at_); }

private:
    T* at_;
};
template <class Stream, class T, class = decltype(::std::declval<Stream&>() << ::std::declval<T>())>
Stream& operator<<(Stream& stream, const device_reference<T>& reference) {
    stream << T(reference);
    return stream;
}

template <class T> class device_ptr {
public:
    typedef ::std::random_access_iterator_tag iterator_category;
    typedef typename ::std::remove_cv<T>::type value_type;
    typedef ::std::ptrdiff_t difference_type;
    typedef device_ptr pointer;
    typedef device_reference<T> reference;

    device_ptr() : at_(nullptr) {}
    explicit device_ptr(T* at) : at_(at) {}
    template <class U, class = typename ::std::enable_if<::std::is_convertible<U*, T*>::value>::type>
    device_ptr(const device_ptr<U>& other) : at_(other.get()) {}
    T* get() const { return at_; }
    GRADER_INLINE reference operator*() const { return reference(at_); }
    GRADER_INLINE reference operator[](difference_type i) const { return reference(at_ + i); }
    device_ptr operator+(difference_type n) const { return device_ptr(at_ + n); }
    device_ptr operator-(difference_type n) const { return device_ptr(at_ - n); }
    difference_type operator-(const device_ptr& other) const { return at_ - other.at_; }
    device_ptr& operator+=(difference_type n) { at_ += n; return *this; }
    device_ptr& operator-=(difference_type n) { at_ -= n; return *this; }
    device_ptr& operator++() { ++at_; return *this; }
    device_ptr& operator--() { --at_; return *this; }
    device_ptr operator++(int) { return device_ptr(at_++); }
    device_ptr operator--(int) { return device_ptr(at_--); }
    bool operator==(const device_ptr& other) const { return at_ == other.at_; }
    bool operator!=(const device_ptr& other) const { return at_ != other.at_; }
    bool operator<(const device_ptr& other) const { return at_ < other.at_; }

private:
    T* at_;
};
template <class T> device_ptr<T> device_pointer_cast(T* pointer) { return device_ptr<T>(pointer); }
template <class T> T* raw_pointer_cast(const device_ptr<T>& pointer) { return pointer.get(); }
template <class T> T* raw_pointer_cast(T* pointer) { return pointer; }

namespace grader_detail {

template <class I> struct IsDevice { static constexpr bool value = false; };
template <class T> struct IsDevice<device_ptr<T>> { static constexpr bool value = true; };

// Elements of host or device memory, one by one or, where both are pointers, at once.
template <class From, class T> GRADER_INLINE void to_device(From first, From last, T* to) {
    typedef typename ::std::decay<decltype(*::grader::raw(first))>::type Given;
    if constexpr (IsDevice<From>::value) {
        if constexpr (::std::is_same<Given, T>::value) {
            if (first != last) cudaMemcpy(to, first.get(), size_t(last - first) * sizeof(T), cudaMemcpyDeviceToDevice);
        } else {
            const size_t count = size_t(last - first);
            ::grader::library_launch("thrust::copy", nullptr, [from = first.get(), to, count] {
                for (size_t i = 0; i < count; ++i) to[i] = T(from[i]);
            });
        }
        cudaStreamSynchronize(nullptr);
    } else {
        const ::std::vector<T> host(first, last);
        if (!host.empty()) cudaMemcpy(to, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
    }
}

}  // namespace grader_detail

template <class T> class device_vector {
public:
    typedef T value_type;
    typedef size_t size_type;
    typedef device_ptr<T> iterator, pointer;
    typedef device_ptr<const T> const_iterator, const_pointer;
    typedef device_reference<T> reference;

    device_vector() {}
    GRADER_INLINE explicit device_vector(size_t count) { resize(count); }
    GRADER_INLINE device_vector(size_t count, const T& value) { resize(count, value); }
    template <class I, class = typename ::std::iterator_traits<I>::iterator_category> GRADER_INLINE device_vector(I first, I last) { assign(first, last); }
    GRADER_INLINE device_vector(::std::initializer_list<T> values) { assign(values.begin(), values.end()); }
    template <class A> GRADER_INLINE device_vector(const ::std::vector<T, A>& host) { assign(host.begin(), host.end()); }
    GRADER_INLINE device_vector(const device_vector& other) { assign(other.begin(), other.end()); }
    device_vector(device_vector&& other) noexcept { swap(other); }
    GRADER_INLINE ~device_vector() { cudaFree(data_); }
    GRADER_INLINE device_vector& operator=(const device_vector& other) {
        if (this != &other) assign(other.begin(), other.end());
        return *this;
    }
    device_vector& operator=(device_vector&& other) noexcept { swap(other); return *this; }
    template <class A> GRADER_INLINE device_vector& operator=(const ::std::vector<T, A>& host) { assign(host.begin(), host.end()); return *this; }

    iterator begin() { return iterator(data_); }
    iterator end() { return iterator(data_ + size_); }
    const_iterator begin() const { return const_iterator(data_); }
    const_iterator end() const { return const_iterator(data_ + size_); }
    const_iterator cbegin() const { return begin(); }
    const_iterator cend() const { return end(); }
    pointer data() { return pointer(data_); }
    const_pointer data() const { return const_pointer(data_); }
    size_t size() const { return size_; }
    size_t capacity() const { return capacity_; }
    bool empty() const { return size_ == 0; }
    GRADER_INLINE reference operator[](size_t i) { return reference(data_ + i); }
    GRADER_INLINE T operator[](size_t i) const { return device_reference<T>(data_ + i); }
    GRADER_INLINE reference front() { return reference(data_); }
    GRADER_INLINE reference back() { return reference(data_ + size_ - 1); }

    template <class I> GRADER_INLINE void assign(I first, I last) {
        const size_t count = size_t(last - first);
        if (count > capacity_) {
            cudaFree(data_);
            data_ = nullptr;
            size_ = capacity_ = 0;
        }
        reserve(count);
        grader_detail::to_device(first, last, data_);
        size_ = count;
    }
    GRADER_INLINE void reserve(size_t count) {
        if (count <= capacity_) return;
        T* larger = nullptr;
        grader_malloc((void**)&larger, count * sizeof(T), "device_vector");
        if (size_) cudaMemcpy(larger, data_, size_ * sizeof(T), cudaMemcpyDeviceToDevice);
        cudaFree(data_);
        data_ = larger;
        capacity_ = count;
    }
    GRADER_INLINE void resize(size_t count, const T& value = T()) {
        reserve(count);
        if (count > size_)
            ::grader::library_launch("thrust::fill", nullptr, [to = data_, first = size_, count, value] {
                for (size_t i = first; i < count; ++i) to[i] = value;
            });
        cudaStreamSynchronize(nullptr);
        size_ = count;
    }
    GRADER_INLINE void push_back(const T& value) {
        if (size_ == capacity_) reserve(size_ ? 2 * size_ : 1);
        ++size_;
        back() = value;
    }
    void pop_back() { --size_; }
    void clear() { size_ = 0; }
    void swap(device_vector& other) {
        ::std::swap(data_, other.data_);
        ::std::swap(size_, other.size_);
        ::std::swap(capacity_, other.capacity_);
    }

private:
    T* data_ = nullptr;
    size_t size_ = 0, capacity_ = 0;
};

template <class T> class host_vector : public ::std::vector<T> {
public:
    using ::std::vector<T>::vector;
    host_vector() {}
    GRADER_INLINE host_vector(const device_vector<T>& device) { *this = device; }
    GRADER_INLINE host_vector& operator=(const device_vector<T>& device) {
        this->resize(device.size());
        if (device.size()) cudaMemcpy(this->data(), device.data().get(), device.size() * sizeof(T), cudaMemcpyDeviceToHost);
        return *this;
    }
};

}  // namespace thrust
