// Memory: allocation, copies, symbols. Definitions in ../../runtime/memory_api.cpp.
#pragma once

enum { cudaMemAttachGlobal = 1, cudaMemAttachHost = 2 };
enum { cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2, cudaHostAllocWriteCombined = 4 };
enum { cudaHostRegisterDefault = 0, cudaHostRegisterPortable = 1, cudaHostRegisterMapped = 2, cudaHostRegisterReadOnly = 8 };

enum cudaMemoryType {
    cudaMemoryTypeUnregistered = 0,
    cudaMemoryTypeHost = 1,
    cudaMemoryTypeDevice = 2,
    cudaMemoryTypeManaged = 3,
};
struct cudaPointerAttributes {
    enum cudaMemoryType type;
    int device;
    void* devicePointer;
    void* hostPointer;
};
enum cudaMemoryAdvise {
    cudaMemAdviseSetReadMostly = 1,
    cudaMemAdviseUnsetReadMostly,
    cudaMemAdviseSetPreferredLocation,
    cudaMemAdviseUnsetPreferredLocation,
    cudaMemAdviseSetAccessedBy,
    cudaMemAdviseUnsetAccessedBy,
};
#define cudaCpuDeviceId (-1)
#define cudaInvalidDeviceId (-2)
enum cudaMemLocationType {
    cudaMemLocationTypeInvalid = 0,
    cudaMemLocationTypeDevice = 1,
    cudaMemLocationTypeHost = 2,
    cudaMemLocationTypeHostNuma = 3,
    cudaMemLocationTypeHostNumaCurrent = 4,
};
struct cudaMemLocation {
    cudaMemLocationType type;
    int id;
};

extern "C" {
// Between these calls, what the host does is done by the stream.
void grader_enter_stream(cudaStream_t stream);
void grader_leave_stream();
cudaError_t grader_malloc(void** pointer, size_t bytes, const char* name);
cudaError_t grader_malloc_host(void** pointer, size_t bytes, int managed, const char* name);
cudaError_t cudaFree(void* pointer);
cudaError_t cudaFreeHost(void* pointer);
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
cudaError_t grader_memcpy_async(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemset(void* pointer, int value, size_t bytes);
cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height);
cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer);
cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void* pointer);
cudaError_t grader_host_device_pointer(void** device, void* host);
cudaError_t grader_symbol_address(void** address, const void* symbol, size_t bytes, size_t element_bytes);
cudaError_t grader_copy_symbol(void* symbol, size_t symbol_bytes, const void* host, void* host_to, size_t bytes,
                               size_t offset, cudaMemcpyKind kind);
}

namespace grader {
// Sets the name of the next allocation; the rewriter inserts the calls.
inline const char*& pending_name() {
    static __thread const char* name = nullptr;
    return name;
}
GRADER_INLINE void name_next(const char* name) { pending_name() = name; }
GRADER_INLINE const char* take_name() {
    const char* name = pending_name();
    pending_name() = nullptr;
    return name;
}
}  // namespace grader

template <class T> GRADER_INLINE cudaError_t cudaMalloc(T** pointer, size_t bytes) {
    return grader_malloc((void**)pointer, bytes, grader::take_name());
}
template <class T> GRADER_INLINE cudaError_t cudaMallocAsync(T** pointer, size_t bytes, cudaStream_t) {
    return grader_malloc((void**)pointer, bytes, grader::take_name());
}
template <class T> GRADER_INLINE cudaError_t cudaMallocManaged(T** pointer, size_t bytes, unsigned = cudaMemAttachGlobal) {
    return grader_malloc_host((void**)pointer, bytes, 1, grader::take_name());
}
template <class T> GRADER_INLINE cudaError_t cudaMallocHost(T** pointer, size_t bytes, unsigned = 0) {
    return grader_malloc_host((void**)pointer, bytes, 0, grader::take_name());
}
template <class T> GRADER_INLINE cudaError_t cudaHostAlloc(T** pointer, size_t bytes, unsigned) {
    return grader_malloc_host((void**)pointer, bytes, 0, grader::take_name());
}
template <class T> GRADER_INLINE cudaError_t cudaMallocPitch(T** pointer, size_t* pitch, size_t width, size_t height) {
    *pitch = (width + 511) / 512 * 512;
    return grader_malloc((void**)pointer, *pitch * height, grader::take_name());
}
// `call`, done by a stream.
#define GRADER_IN_STREAM(stream, call)   \
    grader_enter_stream(stream);         \
    const cudaError_t error = call;      \
    grader_leave_stream();               \
    return error
GRADER_INLINE cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) { GRADER_IN_STREAM(stream, cudaFree(pointer)); }
GRADER_INLINE cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream = 0) {
    if (grader::captured(stream, [=] { cudaMemcpy(to, from, bytes, kind); })) return cudaSuccess;
    return grader_memcpy_async(to, from, bytes, kind, stream);
}
GRADER_INLINE cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                            size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream = 0) {
    if (grader::captured(stream, [=] { cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind); })) return cudaSuccess;
    GRADER_IN_STREAM(stream, cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind));
}
GRADER_INLINE cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
    return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice);
}
GRADER_INLINE cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream = 0) {
    if (grader::captured(stream, [=] { cudaMemset(pointer, value, bytes); })) return cudaSuccess;
    GRADER_IN_STREAM(stream, cudaMemset(pointer, value, bytes));
}
GRADER_INLINE cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                                            cudaStream_t stream = 0) {
    if (grader::captured(stream, [=] { cudaMemset2D(pointer, pitch, value, width, height); })) return cudaSuccess;
    GRADER_IN_STREAM(stream, cudaMemset2D(pointer, pitch, value, width, height));
}
template <class T> GRADER_INLINE cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned) {
    return grader_host_device_pointer((void**)device, host);
}
GRADER_INLINE cudaError_t cudaMemPrefetchAsync(const void*, size_t, int, cudaStream_t = 0) { return cudaSuccess; }
GRADER_INLINE cudaError_t cudaMemPrefetchAsync(const void*, size_t, cudaMemLocation, unsigned, cudaStream_t = 0) {
    return cudaSuccess;
}
GRADER_INLINE cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, cudaMemLocation) { return cudaSuccess; }
// The signatures before CUDA 13.
GRADER_INLINE cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, int) { return cudaSuccess; }

// All pools are one, and settings are ignored: pools affect only speed.
typedef struct GraderMemPool* cudaMemPool_t;
enum cudaMemAllocationType { cudaMemAllocationTypeInvalid = 0, cudaMemAllocationTypePinned = 1 };
enum cudaMemAllocationHandleType { cudaMemHandleTypeNone = 0 };
struct cudaMemPoolProps {
    cudaMemAllocationType allocType;
    cudaMemAllocationHandleType handleTypes;
    cudaMemLocation location;
    void* win32SecurityAttributes;
    size_t maxSize;
    unsigned short usage;
    unsigned char reserved[54];
};
enum cudaMemPoolAttr {
    cudaMemPoolReuseFollowEventDependencies = 1,
    cudaMemPoolReuseAllowOpportunistic = 2,
    cudaMemPoolReuseAllowInternalDependencies = 3,
    cudaMemPoolAttrReleaseThreshold = 4,
};
GRADER_INLINE cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) { *pool = nullptr; return cudaSuccess; }
GRADER_INLINE cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int) { *pool = nullptr; return cudaSuccess; }
GRADER_INLINE cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
GRADER_INLINE cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }
GRADER_INLINE cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
    static char any;
    *pool = (cudaMemPool_t)&any;
    return cudaSuccess;
}
GRADER_INLINE cudaError_t cudaMemPoolDestroy(cudaMemPool_t) { return cudaSuccess; }
GRADER_INLINE cudaError_t cudaDeviceSetMemPool(int, cudaMemPool_t) { return cudaSuccess; }
template <class T> GRADER_INLINE cudaError_t cudaMallocFromPoolAsync(T** pointer, size_t bytes, cudaMemPool_t, cudaStream_t stream) {
    return cudaMallocAsync(pointer, bytes, stream);
}
template <class T> GRADER_INLINE cudaError_t cudaMallocAsync(T** pointer, size_t bytes, cudaMemPool_t, cudaStream_t stream) {
    return cudaMallocAsync(pointer, bytes, stream);
}

template <class T>
GRADER_INLINE cudaError_t cudaMemcpyToSymbol(T& symbol, const void* from, size_t bytes, size_t offset = 0,
                                             cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
    return grader_copy_symbol((void*)&symbol, sizeof(T), from, nullptr, bytes, offset, kind);
}
template <class T>
GRADER_INLINE cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                               cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
    return grader_copy_symbol((void*)&symbol, sizeof(T), nullptr, to, bytes, offset, kind);
}
template <class T>
GRADER_INLINE cudaError_t cudaMemcpyToSymbolAsync(T& symbol, const void* from, size_t bytes, size_t offset = 0,
                                                  cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t stream = 0) {
    GRADER_IN_STREAM(stream, cudaMemcpyToSymbol(symbol, from, bytes, offset, kind));
}
template <class T>
GRADER_INLINE cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, size_t bytes, size_t offset = 0,
                                                    cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t stream = 0) {
    GRADER_IN_STREAM(stream, cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind));
}
template <class P, class T> GRADER_INLINE cudaError_t cudaGetSymbolAddress(P** address, const T& symbol) {
    return grader_symbol_address((void**)address, (const void*)&symbol, sizeof(T), grader::ElementSize<T>::value);
}
template <class T> GRADER_INLINE cudaError_t cudaGetSymbolSize(size_t* bytes, const T&) {
    *bytes = sizeof(T);
    return cudaSuccess;
}
