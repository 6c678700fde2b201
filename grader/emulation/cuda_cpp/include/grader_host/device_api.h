// Devices, errors, streams, events, occupancy. Everything runs in the order of the calls; which calls
// a GPU would not keep in order is known (../../runtime/streams.h).
#pragma once
#include "device_properties.h"

enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9,
};
enum cudaFuncCache { cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual };
enum cudaSharedMemConfig { cudaSharedMemBankSizeDefault, cudaSharedMemBankSizeFourByte, cudaSharedMemBankSizeEightByte };
enum cudaLimit {
    cudaLimitStackSize = 0,
    cudaLimitPrintfFifoSize = 1,
    cudaLimitMallocHeapSize = 2,
    cudaLimitDevRuntimeSyncDepth = 3,
    cudaLimitDevRuntimePendingLaunchCount = 4,
    cudaLimitMaxL2FetchGranularity = 5,
    cudaLimitPersistingL2CacheSize = 6,
};
struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes;
    int preferredShmemCarveout;
};

enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
enum { cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2 };
enum { cudaDeviceScheduleAuto = 0, cudaDeviceScheduleSpin = 1, cudaDeviceScheduleYield = 2,
       cudaDeviceScheduleBlockingSync = 4, cudaDeviceMapHost = 8 };
enum { cudaEventRecordDefault = 0, cudaEventRecordExternal = 1 };
enum { cudaOccupancyDefault = 0, cudaOccupancyDisableCachingOverride = 1 };
enum { cudaSharedmemCarveoutDefault = -1, cudaSharedmemCarveoutMaxShared = 100, cudaSharedmemCarveoutMaxL1 = 0 };

extern "C" {
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorString(cudaError_t error);
const char* cudaGetErrorName(cudaError_t error);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t grader_set_dynamic_limit(int bytes);
cudaError_t grader_launch_untyped();
cudaError_t grader_refuse(const char* feature, const char* message);
cudaError_t grader_last_launch();
cudaError_t grader_wait_event(cudaStream_t stream, cudaEvent_t event);
void grader_set_heap(size_t bytes);
size_t grader_get_heap();
int grader_blocks_each(int threads, size_t shared_bytes);  // resident on one multiprocessor
}

GRADER_INLINE cudaError_t cudaEventRecord(cudaEvent_t event) { return cudaEventRecord(event, nullptr); }
GRADER_INLINE cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
GRADER_INLINE cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
GRADER_INLINE cudaError_t cudaEventSynchronize(cudaEvent_t event) { return cudaEventQuery(event); }
GRADER_INLINE cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }
GRADER_INLINE cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) { return cudaStreamCreateWithFlags(stream, flags); }
GRADER_INLINE cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream = nullptr, unsigned = 0) {
    return cudaEventRecord(event, stream);
}
GRADER_INLINE cudaError_t cudaStreamGetPriority(cudaStream_t, int* priority) { *priority = 0; return cudaSuccess; }
GRADER_INLINE cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }
GRADER_INLINE cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned = 0) { return grader_wait_event(stream, event); }
typedef void (*cudaHostFn_t)(void*);
typedef void (*cudaStreamCallback_t)(cudaStream_t, cudaError_t, void*);
GRADER_INLINE cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
    if (grader::captured(stream, [=] { function(data); })) return cudaSuccess;
    grader_enter_stream(stream);
    const cudaError_t error = cudaStreamSynchronize(stream);
    if (error == cudaSuccess) function(data);
    grader_leave_stream();
    return error;
}
GRADER_INLINE cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data, unsigned) {
    grader_enter_stream(stream);
    function(stream, cudaStreamSynchronize(stream), data);  // with any earlier error
    grader_leave_stream();
    return cudaSuccess;
}
GRADER_INLINE cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) { *least = *greatest = 0; return cudaSuccess; }
GRADER_INLINE cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
GRADER_INLINE cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
GRADER_INLINE cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
GRADER_INLINE cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
GRADER_INLINE cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
    if (limit == cudaLimitMallocHeapSize) grader_set_heap(value);
    return cudaSuccess;
}
GRADER_INLINE cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
    *value = limit == cudaLimitStackSize ? 1024 : limit == cudaLimitPrintfFifoSize ? 1 << 20 : grader_get_heap();  // as on a GPU
    return cudaSuccess;
}
GRADER_INLINE cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) { *can = 0; return cudaSuccess; }

template <class F> GRADER_INLINE cudaError_t cudaFuncSetAttribute(F, cudaFuncAttribute attribute, int value) {
    return attribute == cudaFuncAttributeMaxDynamicSharedMemorySize ? grader_set_dynamic_limit(value) : cudaSuccess;
}
template <class F> GRADER_INLINE cudaError_t cudaFuncSetCacheConfig(F, cudaFuncCache) { return cudaSuccess; }
template <class F> GRADER_INLINE cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, F) {
    *attributes = cudaFuncAttributes{0, 0, 0, 1024, 32, 80, 80, 0, 49152, -1};
    return cudaSuccess;
}
template <class F>
GRADER_INLINE cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, F, size_t = 0, int limit = 0) {
    *block = limit > 0 && limit < 1024 ? limit : 1024;
    *grid = 2 * 16;
    return cudaSuccess;
}
template <class F>
GRADER_INLINE cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, F, int block, size_t shared) {
    *blocks = grader_blocks_each(block, shared);
    return cudaSuccess;
}
template <class F>
GRADER_INLINE cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, F kernel, int block,
                                                                                 size_t shared, unsigned) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, block, shared);
}
template <class Size, class F>
GRADER_INLINE cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* grid, int* block, F kernel, Size,
                                                                         int limit = 0) {
    return cudaOccupancyMaxPotentialBlockSize(grid, block, kernel, 0, limit);
}

namespace grader {
// The kernel of the next cudaLaunchKernel; the rewriter inserts the calls.
inline const char*& launch_name() {
    static __thread const char* name = nullptr;
    return name;
}
GRADER_INLINE void name_launch(const char* name) { launch_name() = name; }
GRADER_INLINE const char* take_launch_name() {
    const char* name = launch_name();
    launch_name() = nullptr;
    return name ? name : "cudaLaunchKernel";
}

template <size_t... I> struct Indices {};
template <size_t N, size_t... I> struct MakeIndices : MakeIndices<N - 1, N - 1, I...> {};
template <size_t... I> struct MakeIndices<0, I...> { typedef Indices<I...> type; };
template <class T> struct Unqualified { typedef T type; };
template <class T> struct Unqualified<const T> { typedef T type; };

template <class... P, size_t... I>
cudaError_t launch_packed(const char* name, void (*kernel)(P...), dim3 grid, dim3 block, void** arguments,
                          size_t shared, cudaStream_t stream, Indices<I...>) {
    Launch(grid, block, shared, stream).grader_named(name, [=](auto&... p) { kernel(p...); })(
        *static_cast<typename Unqualified<P>::type*>(arguments[I])...);
    return grader_last_launch();
}
}  // namespace grader

template <class... P>
cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments, size_t shared = 0,
                             cudaStream_t stream = nullptr) {
    return grader::launch_packed(grader::take_launch_name(), kernel, grid, block, arguments, shared, stream,
                                 typename grader::MakeIndices<sizeof...(P)>::type());
}
template <class... P>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments, size_t shared = 0,
                                        cudaStream_t stream = nullptr) {
    grader_next_launch_is_cooperative();
    return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

// ---- launches with attributes; those of the speed are ignored, clusters are refused ----

enum cudaLaunchAttributeID {
    cudaLaunchAttributeIgnore = 0,
    cudaLaunchAttributeAccessPolicyWindow = 1,
    cudaLaunchAttributeCooperative = 2,
    cudaLaunchAttributeSynchronizationPolicy = 3,
    cudaLaunchAttributeClusterDimension = 4,
    cudaLaunchAttributeProgrammaticStreamSerialization = 6,
    cudaLaunchAttributePriority = 8,
};
enum cudaAccessProperty {
    cudaAccessPropertyNormal = 0,
    cudaAccessPropertyStreaming = 1,
    cudaAccessPropertyPersisting = 2,
};
struct cudaAccessPolicyWindow {
    void* base_ptr;
    size_t num_bytes;
    float hitRatio;
    cudaAccessProperty hitProp, missProp;
};
union cudaLaunchAttributeValue {
    char pad[64];
    cudaAccessPolicyWindow accessPolicyWindow;
    int cooperative;
    int priority;
    int programmaticStreamSerializationAllowed;
    struct { unsigned x, y, z; } clusterDim;
};
typedef cudaLaunchAttributeID cudaStreamAttrID;
typedef cudaLaunchAttributeValue cudaStreamAttrValue;
constexpr cudaStreamAttrID cudaStreamAttributeAccessPolicyWindow = cudaLaunchAttributeAccessPolicyWindow;
GRADER_INLINE cudaError_t cudaStreamSetAttribute(cudaStream_t, cudaStreamAttrID, const cudaStreamAttrValue*) {
    return cudaSuccess;
}
GRADER_INLINE cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute* attrs;
    unsigned numAttrs;
};
template <class... P, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(P...), Arguments... arguments) {
    for (unsigned i = 0; i < config->numAttrs; ++i) {
        const cudaLaunchAttribute& a = config->attrs[i];
        const auto& cluster = a.val.clusterDim;
        if (a.id == cudaLaunchAttributeCooperative && a.val.cooperative) grader_next_launch_is_cooperative();
        if (a.id == cudaLaunchAttributeClusterDimension && cluster.x * cluster.y * cluster.z != 1)
            return grader_refuse("thread-block clusters", "a launch asks for clusters of blocks, which cannot be run here");
    }
    const char* name = grader::take_launch_name();
    grader::Launch(config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream)
        .grader_named(name, [=](auto&... p) { kernel(p...); })(static_cast<P>(arguments)...);
    return grader_last_launch();
}
// Called only after a cast to void* that the rewriter could not remove: the kernel's type is lost.
GRADER_INLINE cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t = 0, cudaStream_t = nullptr) {
    return grader_launch_untyped();
}
