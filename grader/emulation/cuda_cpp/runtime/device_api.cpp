// The device: properties, error texts, streams, events.
//
// The emulated device has the limits of current GPUs, so that programs which
// choose launch sizes by its properties behave as on a GPU.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "arena.h"
#include "checker.h"
#include "graphs.h"
#include "pending.h"
#include "streams.h"
#include "worker.h"

using namespace grader;

namespace {

double now_ms() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

std::vector<std::unique_ptr<streams::Inside>>& entered() {
    static std::vector<std::unique_ptr<streams::Inside>>& all = *new std::vector<std::unique_ptr<streams::Inside>>;
    return all;
}

struct ErrorText {
    int code;
    const char* name;
    const char* text;
};
constexpr ErrorText kErrors[] = {
#define GRADER_ERROR_TEXT(name, code, text) {code, #name, text},
    GRADER_ERRORS(GRADER_ERROR_TEXT)
#undef GRADER_ERROR_TEXT
};

const ErrorText& text_of(int code) {
    static constexpr ErrorText unknown = {-1, "unrecognized error code", "unrecognized error code"};
    for (const ErrorText& e : kErrors)
        if (e.code == code) return e;
    return unknown;
}

}  // namespace

extern "C" {

const char* cudaGetErrorString(cudaError_t error) { return text_of(error).text; }
const char* cudaGetErrorName(cudaError_t error) { return text_of(error).name; }

cudaError_t cudaDeviceReset() { return cudaDeviceSynchronize(); }
cudaError_t cudaGetDeviceCount(int* count) {
    *count = 1;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : fail(cudaErrorInvalidDevice); }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
    if (device != 0) return fail(cudaErrorInvalidDevice);
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "CUDA on the host");
    p->totalGlobalMem = arena::device_bytes_total();
    p->sharedMemPerBlock = kSharedDefault;
    p->sharedMemPerBlockOptin = settings.shared_limit;
    p->sharedMemPerMultiprocessor = 228 * 1024;
    p->reservedSharedMemPerBlock = 1024;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->warpSize = static_cast<int>(kWarpSize);
    p->memPitch = 2147483647;
    p->maxThreadsPerBlock = static_cast<int>(kMaxThreads);
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 2147483647;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->clockRate = 1500000;
    p->memoryClockRate = 1500000;
    p->memoryBusWidth = 256;
    p->totalConstMem = 65536;
    p->major = 9;
    p->multiProcessorCount = kMultiprocessors;
    p->maxThreadsPerMultiProcessor = 2048;
    p->maxBlocksPerMultiProcessor = 32;
    p->l2CacheSize = 32 << 20;
    p->textureAlignment = 512;
    p->canMapHostMemory = p->unifiedAddressing = p->managedMemory = p->concurrentManagedAccess = 1;
    p->cooperativeLaunch = p->unifiedFunctionPointers = p->hostRegisterSupported = p->memoryPoolsSupported = 1;
    p->asyncEngineCount = 2;
    p->maxTexture1D = p->maxTexture2D[0] = p->maxTexture2D[1] = p->maxTexture3D[0] = p->maxTexture3D[1] = p->maxTexture3D[2] = 16384;
    p->texturePitchAlignment = 32;
    p->concurrentKernels = p->streamPrioritiesSupported = 1;
    p->globalL1CacheSupported = p->localL1CacheSupported = 1;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    cudaDeviceProp p;
    if (cudaGetDeviceProperties(&p, device) != cudaSuccess) return cudaErrorInvalidDevice;
    switch (attribute) {
        case cudaDevAttrMaxThreadsPerBlock: *value = p.maxThreadsPerBlock; break;
        case cudaDevAttrMaxBlockDimX: *value = p.maxThreadsDim[0]; break;
        case cudaDevAttrMaxBlockDimY: *value = p.maxThreadsDim[1]; break;
        case cudaDevAttrMaxBlockDimZ: *value = p.maxThreadsDim[2]; break;
        case cudaDevAttrMaxGridDimX: *value = p.maxGridSize[0]; break;
        case cudaDevAttrMaxGridDimY: *value = p.maxGridSize[1]; break;
        case cudaDevAttrMaxGridDimZ: *value = p.maxGridSize[2]; break;
        case cudaDevAttrMaxSharedMemoryPerBlock: *value = static_cast<int>(p.sharedMemPerBlock); break;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = static_cast<int>(p.sharedMemPerBlockOptin); break;
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = static_cast<int>(p.sharedMemPerMultiprocessor); break;
        case cudaDevAttrTotalConstantMemory: *value = static_cast<int>(p.totalConstMem); break;
        case cudaDevAttrWarpSize: *value = p.warpSize; break;
        case cudaDevAttrMaxRegistersPerBlock: *value = p.regsPerBlock; break;
        case cudaDevAttrClockRate: *value = p.clockRate; break;
        case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; break;
        case cudaDevAttrMemoryClockRate: *value = p.memoryClockRate; break;
        case cudaDevAttrGlobalMemoryBusWidth: *value = p.memoryBusWidth; break;
        case cudaDevAttrL2CacheSize: *value = p.l2CacheSize; break;
        case cudaDevAttrMaxThreadsPerMultiProcessor: *value = p.maxThreadsPerMultiProcessor; break;
        case cudaDevAttrComputeCapabilityMajor: *value = p.major; break;
        case cudaDevAttrComputeCapabilityMinor: *value = p.minor; break;
        case cudaDevAttrMaxRegistersPerMultiprocessor: *value = p.regsPerMultiprocessor; break;
        case cudaDevAttrMaxBlocksPerMultiprocessor: *value = p.maxBlocksPerMultiProcessor; break;
        case cudaDevAttrReservedSharedMemoryPerBlock: *value = static_cast<int>(p.reservedSharedMemPerBlock); break;
        case cudaDevAttrComputeMode: *value = cudaComputeModeDefault; break;
        case cudaDevAttrAsyncEngineCount: *value = p.asyncEngineCount; break;
        case cudaDevAttrMaxPitch: *value = static_cast<int>(p.memPitch); break;
        case cudaDevAttrTextureAlignment: *value = static_cast<int>(p.textureAlignment); break;
        case cudaDevAttrTexturePitchAlignment: *value = static_cast<int>(p.texturePitchAlignment); break;
        case cudaDevAttrSingleToDoublePrecisionPerfRatio: *value = 2; break;
        case cudaDevAttrPciBusId:
        case cudaDevAttrPciDeviceId:
        case cudaDevAttrPciDomainId:
        case cudaDevAttrTccDriver:
        case cudaDevAttrKernelExecTimeout:
        case cudaDevAttrIsMultiGpuBoard:
        case cudaDevAttrMultiGpuBoardGroupID:
        case cudaDevAttrClusterLaunch:
        case cudaDevAttrEccEnabled:
        case cudaDevAttrIntegrated:
        case cudaDevAttrPageableMemoryAccess: *value = 0; break;
        default: *value = 1; break;  // unified addressing, managed memory, concurrent kernels
    }
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    *stream = streams::create(!(flags & cudaStreamNonBlocking));
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    if (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread) return fail(cudaErrorInvalidResourceHandle);
    streams::destroy(stream);
    return cudaSuccess;
}
void grader_enter_stream(cudaStream_t stream) { entered().push_back(std::make_unique<streams::Inside>(stream)); }
void grader_leave_stream() { entered().pop_back(); }

cudaError_t cudaEventCreate(cudaEvent_t* event) {
    *event = new GraderEvent{-1, nullptr, {}};
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    if (!event) return fail(cudaErrorInvalidResourceHandle);
    delete event;
    return cudaSuccess;
}
cudaError_t grader_wait_event(cudaStream_t stream, cudaEvent_t event) {
    if (!event) return fail(cudaErrorInvalidResourceHandle);
    if (event->capture) graphs::join(stream, event->capture);
    streams::wait_for(stream, event->order);
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    if (!event) return fail(cudaErrorInvalidResourceHandle);
    event->capture = graphs::capturing(stream);
    if (event->capture) return cudaSuccess;
    event->recorded_ms = now_ms();
    event->order = streams::ends(stream);
    return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    if (!event) return fail(cudaErrorInvalidResourceHandle);
    if (!device_lost()) wait_for(event->order);
    arena::settle();
    return device_lost() ? cudaPeekAtLastError() : cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    if (!start || !end || start->recorded_ms < 0 || end->recorded_ms < 0) return fail(cudaErrorInvalidResourceHandle);
    *milliseconds = static_cast<float>(end->recorded_ms - start->recorded_ms);
    return cudaSuccess;
}
}
