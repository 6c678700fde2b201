// 3-D memory, arrays and texture objects. Definitions in ../../runtime/textures.cpp.
//
// An array is ordinary device memory, row after row. A fetch follows the hardware's rules for
// coordinates, addresses and filters (fractions have 8 bits); it is neither counted nor checked,
// because it cannot leave its texture.
#pragma once

enum cudaChannelFormatKind {
    cudaChannelFormatKindSigned = 0,
    cudaChannelFormatKindUnsigned = 1,
    cudaChannelFormatKindFloat = 2,
    cudaChannelFormatKindNone = 3,
};
struct cudaChannelFormatDesc {
    int x, y, z, w;
    cudaChannelFormatKind f;
};
struct cudaExtent { size_t width, height, depth; };
struct cudaPos { size_t x, y, z; };
struct cudaPitchedPtr {
    void* ptr;
    size_t pitch, xsize, ysize;
};
typedef struct cudaArray* cudaArray_t;
typedef const struct cudaArray* cudaArray_const_t;
struct cudaMemcpy3DParms {
    cudaArray_t srcArray;
    cudaPos srcPos;
    cudaPitchedPtr srcPtr;
    cudaArray_t dstArray;
    cudaPos dstPos;
    cudaPitchedPtr dstPtr;
    cudaExtent extent;
    cudaMemcpyKind kind;
};
enum { cudaArrayDefault = 0, cudaArrayLayered = 1, cudaArraySurfaceLoadStore = 2, cudaArrayCubemap = 4, cudaArrayTextureGather = 8 };

enum cudaResourceType { cudaResourceTypeArray = 0, cudaResourceTypeMipmappedArray = 1, cudaResourceTypeLinear = 2, cudaResourceTypePitch2D = 3 };
struct cudaResourceDesc {
    cudaResourceType resType;
    union {
        struct { cudaArray_t array; } array;
        struct { void* devPtr; cudaChannelFormatDesc desc; size_t sizeInBytes; } linear;
        struct { void* devPtr; cudaChannelFormatDesc desc; size_t width, height, pitchInBytes; } pitch2D;
    } res;
};
enum cudaTextureAddressMode { cudaAddressModeWrap = 0, cudaAddressModeClamp = 1, cudaAddressModeMirror = 2, cudaAddressModeBorder = 3 };
enum cudaTextureFilterMode { cudaFilterModePoint = 0, cudaFilterModeLinear = 1 };
enum cudaTextureReadMode { cudaReadModeElementType = 0, cudaReadModeNormalizedFloat = 1 };
struct cudaTextureDesc {
    cudaTextureAddressMode addressMode[3];
    cudaTextureFilterMode filterMode;
    cudaTextureReadMode readMode;
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned maxAnisotropy;
    cudaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization, seamlessCubemap;
};
struct cudaResourceViewDesc;
typedef unsigned long long cudaTextureObject_t;

extern "C" {
cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* desc, cudaExtent extent, unsigned flags);
cudaError_t cudaFreeArray(cudaArray_t array);
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* desc, cudaExtent* extent, unsigned* flags, cudaArray_t array);
void* grader_array_place(cudaArray_t array, size_t x_bytes, size_t y, size_t z);
size_t grader_array_pitch(cudaArray_t array);
size_t grader_array_rows(cudaArray_t array);
size_t grader_array_element(cudaArray_t array);
cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* how, const cudaResourceViewDesc* view);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture);
// Four channels as floats, or as the bits of integers; `whole` asks for an element without filter.
void grader_fetch(cudaTextureObject_t texture, int dimensions, float x, float y, float z, int layered, int whole, unsigned* channels);
}

GRADER_INLINE cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) { return {width, height, depth}; }
GRADER_INLINE cudaPos make_cudaPos(size_t x, size_t y, size_t z) { return {x, y, z}; }
GRADER_INLINE cudaPitchedPtr make_cudaPitchedPtr(void* ptr, size_t pitch, size_t xsize, size_t ysize) { return {ptr, pitch, xsize, ysize}; }
GRADER_INLINE cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f) { return {x, y, z, w, f}; }

namespace grader {
// The element and the number of channels of a texture's type.
template <class T> struct Texel { typedef T type; static constexpr int channels = 1; };
#define GRADER_TEXEL(T, name)                                                                      \
    template <> struct Texel<name##1> { typedef T type; static constexpr int channels = 1; };      \
    template <> struct Texel<name##2> { typedef T type; static constexpr int channels = 2; };      \
    template <> struct Texel<name##4> { typedef T type; static constexpr int channels = 4; };
GRADER_TEXEL(signed char, char)
GRADER_TEXEL(unsigned char, uchar)
GRADER_TEXEL(short, short)
GRADER_TEXEL(unsigned short, ushort)
GRADER_TEXEL(int, int)
GRADER_TEXEL(unsigned, uint)
GRADER_TEXEL(float, float)
#undef GRADER_TEXEL
template <class T> GRADER_INLINE T fetched(cudaTextureObject_t texture, int dimensions, float x, float y, float z, int layered, int whole) {
    typedef typename Texel<T>::type Element;
    unsigned channels[4];
    grader_fetch(texture, dimensions, x, y, z, layered, whole, channels);
    Element elements[Texel<T>::channels];
    for (int i = 0; i < Texel<T>::channels; ++i) {
        if constexpr ((Element)0.5f != (Element)0) elements[i] = __uint_as_float(channels[i]);
        else elements[i] = (Element)channels[i];
    }
    T result;
    __builtin_memcpy(&result, elements, sizeof result);
    return result;
}
}  // namespace grader

template <class T> GRADER_INLINE cudaChannelFormatDesc cudaCreateChannelDesc() {
    typedef typename grader::Texel<T>::type Element;
    constexpr int bits = 8 * sizeof(Element), n = grader::Texel<T>::channels;
    constexpr cudaChannelFormatKind kind = (Element)0.5f != (Element)0 ? cudaChannelFormatKindFloat
                                           : (Element)-1 < (Element)0  ? cudaChannelFormatKindSigned
                                                                       : cudaChannelFormatKindUnsigned;
    return {bits, n > 1 ? bits : 0, n > 2 ? bits : 0, n > 2 ? bits : 0, kind};
}

// A pointer to the result as the first argument is CUDA's older form.
#define GRADER_TEXTURE(name, parameters, fetch)                                                    \
    template <class T> GRADER_INLINE T name parameters { return fetch; }
GRADER_TEXTURE(tex1Dfetch, (cudaTextureObject_t t, int x), grader::fetched<T>(t, 1, (float)x, 0, 0, 0, 1))
GRADER_TEXTURE(tex1D, (cudaTextureObject_t t, float x), grader::fetched<T>(t, 1, x, 0, 0, 0, 0))
GRADER_TEXTURE(tex2D, (cudaTextureObject_t t, float x, float y), grader::fetched<T>(t, 2, x, y, 0, 0, 0))
GRADER_TEXTURE(tex3D, (cudaTextureObject_t t, float x, float y, float z), grader::fetched<T>(t, 3, x, y, z, 0, 0))
GRADER_TEXTURE(tex1DLayered, (cudaTextureObject_t t, float x, int layer), grader::fetched<T>(t, 1, x, 0, (float)layer, 1, 0))
GRADER_TEXTURE(tex2DLayered, (cudaTextureObject_t t, float x, float y, int layer), grader::fetched<T>(t, 2, x, y, (float)layer, 1, 0))
#undef GRADER_TEXTURE

GRADER_INLINE cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent) {
    pointer->xsize = extent.width;
    pointer->ysize = extent.height;
    return cudaMallocPitch(&pointer->ptr, &pointer->pitch, extent.width, extent.height * extent.depth);
}
GRADER_INLINE cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) {
    for (size_t z = 0; z < extent.depth; ++z)
        if (cudaError_t error = cudaMemset2D((char*)to.ptr + z * to.pitch * to.ysize, to.pitch, value, extent.width, extent.height)) return error;
    return cudaSuccess;
}
GRADER_INLINE cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* desc, size_t width, size_t height = 0, unsigned flags = 0) {
    return cudaMalloc3DArray(array, desc, {width, height, 0}, flags);
}
GRADER_INLINE cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* desc, cudaExtent extent) {
    return cudaMalloc3DArray(array, desc, extent, 0);
}
GRADER_INLINE cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch, size_t width, size_t height, cudaMemcpyKind kind) {
    return cudaMemcpy2D(grader_array_place(to, x, y, 0), grader_array_pitch(to), from, pitch, width, height, kind);
}
GRADER_INLINE cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width, size_t height, cudaMemcpyKind kind) {
    cudaArray_t array = const_cast<cudaArray_t>(from);
    return cudaMemcpy2D(to, pitch, grader_array_place(array, x, y, 0), grader_array_pitch(array), width, height, kind);
}
GRADER_INLINE cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes, cudaMemcpyKind kind) {
    const size_t row = grader_array_pitch(to);
    return bytes <= row ? cudaMemcpy2DToArray(to, x, y, from, bytes, bytes, 1, kind)
                        : cudaMemcpy2DToArray(to, x, y, from, row, row, bytes / row, kind);
}
GRADER_INLINE cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p) {
    // Positions and widths are in elements where an array takes part, else in bytes.
    const size_t unit = p->srcArray ? grader_array_element(p->srcArray) : p->dstArray ? grader_array_element(p->dstArray) : 1;
    for (size_t z = 0; z < p->extent.depth; ++z) {
        const void* from = p->srcArray ? grader_array_place(p->srcArray, p->srcPos.x * unit, p->srcPos.y, p->srcPos.z + z)
                                       : (char*)p->srcPtr.ptr + ((p->srcPos.z + z) * p->srcPtr.ysize + p->srcPos.y) * p->srcPtr.pitch + p->srcPos.x;
        void* to = p->dstArray ? grader_array_place(p->dstArray, p->dstPos.x * unit, p->dstPos.y, p->dstPos.z + z)
                               : (char*)p->dstPtr.ptr + ((p->dstPos.z + z) * p->dstPtr.ysize + p->dstPos.y) * p->dstPtr.pitch + p->dstPos.x;
        const cudaError_t error =
            cudaMemcpy2D(to, p->dstArray ? grader_array_pitch(p->dstArray) : p->dstPtr.pitch, from,
                         p->srcArray ? grader_array_pitch(p->srcArray) : p->srcPtr.pitch, p->extent.width * unit, p->extent.height, p->kind);
        if (error) return error;
    }
    return cudaSuccess;
}
GRADER_INLINE cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream = nullptr) { GRADER_IN_STREAM(stream, cudaMemcpy3D(p)); }
