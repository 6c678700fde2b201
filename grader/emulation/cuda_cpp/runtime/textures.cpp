// Arrays and texture objects: memory of the device, and fetches by the hardware's rules.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "worker.h"

struct cudaArray {
    cudaChannelFormatDesc desc;
    cudaExtent extent;
    unsigned flags;
    char* memory;
    size_t element, pitch;
};

using namespace grader;

namespace {

struct Texture {
    cudaChannelFormatDesc desc;
    cudaTextureDesc how;
    const char* memory;
    size_t element, pitch, width, height, depth, layers;
};

size_t bytes_of(const cudaChannelFormatDesc& d) { return static_cast<size_t>(d.x + d.y + d.z + d.w) / 8; }

// The index of a texel by an address mode; -1 is the border.
long place(long i, long size, cudaTextureAddressMode mode) {
    if (i >= 0 && i < size) return i;
    switch (mode) {
        case cudaAddressModeWrap: return (i % size + size) % size;
        case cudaAddressModeMirror: {
            const long at = (i % (2 * size) + 2 * size) % (2 * size);
            return at < size ? at : 2 * size - 1 - at;
        }
        case cudaAddressModeBorder: return -1;
        default: return i < 0 ? 0 : size - 1;
    }
}

float half_of(unsigned short bits) { return half_value(bits); }

// A channel as a float (normalised if the texture asks for it) or as an integer's bits.
float channel(const Texture& t, const char* texel, int c, unsigned* integer) {
    const int width = t.desc.x;
    const char* at = texel + c * width / 8;
    const bool normal = t.how.readMode == cudaReadModeNormalizedFloat;
    if (t.desc.f == cudaChannelFormatKindFloat) {
        float value;
        if (width == 16) {
            unsigned short bits;
            memcpy(&bits, at, 2);
            value = half_of(bits);
        } else {
            memcpy(&value, at, 4);
        }
        memcpy(integer, &value, 4);
        return value;
    }
    if (t.desc.f == cudaChannelFormatKindSigned) {
        int value = 0;
        if (width == 8) value = *reinterpret_cast<const signed char*>(at);
        else if (width == 16) { short v; memcpy(&v, at, 2); value = v; }
        else memcpy(&value, at, 4);
        *integer = static_cast<unsigned>(value);
        const float most = width == 8 ? 127.0f : 32767.0f;
        return normal ? std::max(static_cast<float>(value) / most, -1.0f) : static_cast<float>(value);
    }
    unsigned value = 0;
    memcpy(&value, at, static_cast<size_t>(width) / 8);
    *integer = value;
    return normal ? static_cast<float>(value) / (width == 8 ? 255.0f : 65535.0f) : static_cast<float>(value);
}

struct Fetch {
    const Texture& t;
    size_t layer;

    // One texel's channels.
    void texel(long x, long y, long z, float* values, unsigned* integers) const {
        const int channels = static_cast<int>(8 * t.element) / t.desc.x;
        const cudaTextureAddressMode* mode = t.how.addressMode;
        x = place(x, static_cast<long>(t.width), mode[0]);
        y = place(y, static_cast<long>(t.height), mode[1]);
        z = place(z, static_cast<long>(t.depth), mode[2]);
        for (int c = 0; c < 4; ++c) {
            values[c] = 0;
            integers[c] = 0;
            if (x < 0 || y < 0 || z < 0) {
                values[c] = t.how.borderColor[c];
                memcpy(&integers[c], &values[c], 4);
            } else if (c < channels) {
                const size_t row = (static_cast<size_t>(z) + layer) * t.height + static_cast<size_t>(y);
                values[c] = channel(t, t.memory + row * t.pitch + static_cast<size_t>(x) * t.element, c, &integers[c]);
            }
        }
    }
};

// Where a coordinate lies between two texels, and how far: a fraction of 8 bits.
float split(float x, long& first) {
    const float at = std::floor((x - 0.5f) * 256.0f + 0.5f) / 256.0f;
    first = static_cast<long>(std::floor(at));
    return at - static_cast<float>(first);
}

// Wrap and mirror need normalised coordinates; without them the hardware clamps.
cudaTextureDesc effective(cudaTextureDesc how) {
    for (auto& mode : how.addressMode)
        if (!how.normalizedCoords && (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror)) mode = cudaAddressModeClamp;
    return how;
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* desc, cudaExtent extent, unsigned flags) {
    const size_t element = bytes_of(*desc), pitch = element * extent.width;
    const size_t rows = std::max<size_t>(extent.height, 1) * std::max<size_t>(extent.depth, 1);
    if (pitch == 0) return fail(cudaErrorInvalidValue);
    void* memory = nullptr;
    if (cudaError_t error = grader_malloc(&memory, pitch * rows, "array")) return error;
    *array = new cudaArray{*desc, extent, flags, static_cast<char*>(memory), element, pitch};
    return cudaSuccess;
}
cudaError_t cudaFreeArray(cudaArray_t array) {
    if (!array) return cudaSuccess;
    const cudaError_t error = cudaFree(array->memory);
    delete array;
    return error;
}
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* desc, cudaExtent* extent, unsigned* flags, cudaArray_t array) {
    if (desc) *desc = array->desc;
    if (extent) *extent = array->extent;
    if (flags) *flags = array->flags;
    return cudaSuccess;
}
void* grader_array_place(cudaArray_t array, size_t x_bytes, size_t y, size_t z) {
    return array->memory + (z * std::max<size_t>(array->extent.height, 1) + y) * array->pitch + x_bytes;
}
size_t grader_array_pitch(cudaArray_t array) { return array->pitch; }
size_t grader_array_rows(cudaArray_t array) { return std::max<size_t>(array->extent.height, 1); }
size_t grader_array_element(cudaArray_t array) { return array->element; }

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource, const cudaTextureDesc* how,
                                    const cudaResourceViewDesc* view) {
    if (!texture || !resource || !how || view) return fail(view ? cudaErrorNotSupported : cudaErrorInvalidValue);
    Texture t = {};
    t.how = effective(*how);
    t.height = t.depth = t.layers = 1;
    if (resource->resType == cudaResourceTypeArray) {
        const cudaArray& a = *resource->res.array.array;
        const bool layered = a.flags & cudaArrayLayered;
        t.desc = a.desc;
        t.memory = a.memory;
        t.pitch = a.pitch;
        t.width = a.extent.width;
        t.height = std::max<size_t>(a.extent.height, 1);
        (layered ? t.layers : t.depth) = std::max<size_t>(a.extent.depth, 1);
    } else if (resource->resType == cudaResourceTypeLinear) {
        t.desc = resource->res.linear.desc;
        t.memory = static_cast<const char*>(resource->res.linear.devPtr);
        t.width = resource->res.linear.sizeInBytes / std::max<size_t>(bytes_of(t.desc), 1);
        t.pitch = resource->res.linear.sizeInBytes;
    } else if (resource->resType == cudaResourceTypePitch2D) {
        t.desc = resource->res.pitch2D.desc;
        t.memory = static_cast<const char*>(resource->res.pitch2D.devPtr);
        t.width = resource->res.pitch2D.width;
        t.height = resource->res.pitch2D.height;
        t.pitch = resource->res.pitch2D.pitchInBytes;
    } else {
        return grader_refuse("mipmapped textures", "a mipmapped array is no texture here");
    }
    t.element = bytes_of(t.desc);
    if (t.element == 0 || t.desc.x == 0) return fail(cudaErrorInvalidChannelDescriptor);
    // The hardware filters floats only.
    if (t.how.filterMode == cudaFilterModeLinear && t.desc.f != cudaChannelFormatKindFloat && t.how.readMode == cudaReadModeElementType)
        return fail(cudaErrorInvalidFilterSetting);
    *texture = reinterpret_cast<cudaTextureObject_t>(new Texture(t));
    return cudaSuccess;
}
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) {
    delete reinterpret_cast<Texture*>(texture);
    return cudaSuccess;
}

void grader_fetch(cudaTextureObject_t texture, int dimensions, float x, float y, float z, int layered, int whole, unsigned* channels) {
    memset(channels, 0, 4 * sizeof *channels);
    if (!texture) return;
    const Texture& t = *reinterpret_cast<const Texture*>(texture);
    Fetch fetch{t, 0};
    if (layered) {
        const long layer = std::min<long>(std::max<long>(lrintf(z), 0), static_cast<long>(t.layers) - 1);
        fetch.layer = static_cast<size_t>(layer);
        z = 0;
    }
    const bool integer = t.desc.f != cudaChannelFormatKindFloat && t.how.readMode == cudaReadModeElementType;
    float values[4];
    unsigned integers[4];
    if (whole) {
        const long i = static_cast<long>(x);
        if (i < 0 || i >= static_cast<long>(t.width)) return;
        fetch.texel(i, 0, 0, values, integers);
        for (int c = 0; c < 4; ++c) memcpy(&channels[c], integer ? static_cast<void*>(&integers[c]) : &values[c], 4);
        return;
    }
    if (t.how.normalizedCoords) {
        x *= static_cast<float>(t.width);
        y *= static_cast<float>(t.height);
        if (!layered) z *= static_cast<float>(t.depth);
    }
    if (t.how.filterMode == cudaFilterModePoint || integer) {
        fetch.texel(static_cast<long>(std::floor(x)), dimensions > 1 ? static_cast<long>(std::floor(y)) : 0,
                    dimensions > 2 ? static_cast<long>(std::floor(z)) : 0, values, integers);
        for (int c = 0; c < 4; ++c) memcpy(&channels[c], integer ? static_cast<void*>(&integers[c]) : &values[c], 4);
        return;
    }
    long first[3] = {0, 0, 0};
    float fraction[3] = {split(x, first[0]), 0, 0};
    if (dimensions > 1) fraction[1] = split(y, first[1]);
    if (dimensions > 2) fraction[2] = split(z, first[2]);
    float sum[4] = {0, 0, 0, 0};
    for (int corner = 0; corner < 1 << dimensions; ++corner) {
        float weight = 1;
        long at[3] = {first[0], first[1], first[2]};
        for (int d = 0; d < dimensions; ++d) {
            const bool upper = corner >> d & 1;
            weight *= upper ? fraction[d] : 1 - fraction[d];
            at[d] += upper;
        }
        if (weight == 0) continue;
        fetch.texel(at[0], at[1], at[2], values, integers);
        for (int c = 0; c < 4; ++c) sum[c] += weight * values[c];
    }
    memcpy(channels, sum, sizeof sum);
}
}
