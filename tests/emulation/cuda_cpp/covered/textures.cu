#include "result.cuh"
__global__ void sample(cudaTextureObject_t point, cudaTextureObject_t linear, float* out, int n) {
    int i = threadIdx.x, x = i % 8, y = i / 8;
    float value = tex2D<float>(point, x + 0.5f, y + 0.5f) + tex2D<float>(point, x - 3.0f, y + 9.0f);
    value += tex2D<float>(linear, (x + 0.75f) / 8, (y + 1.0f) / 4) + tex2D<float>(linear, 1.0f + x / 8.0f, -0.5f);
    out[i + PLANT(n, 0)] = value;  // FAULT out_of_bounds
}
cudaTextureObject_t make(cudaArray_t array, cudaTextureFilterMode filter, cudaTextureAddressMode mode, int normalized) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc how = {};
    how.addressMode[0] = how.addressMode[1] = mode;
    how.filterMode = filter;
    how.normalizedCoords = normalized;
    cudaTextureObject_t texture = 0;
    cudaCreateTextureObject(&texture, &resource, &how, nullptr);
    return texture;
}
int main() {
    float host[32];
    for (int i = 0; i < 32; ++i) host[i] = (float)(i * i % 64);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    cudaMallocArray(&array, &format, 8, 4);
    cudaMemcpy2DToArray(array, 0, 0, host, 32, 32, 4, cudaMemcpyHostToDevice);
    cudaTextureObject_t point = make(array, cudaFilterModePoint, cudaAddressModeClamp, 0);
    cudaTextureObject_t linear = make(array, cudaFilterModeLinear, cudaAddressModeWrap, 1);
    float* out = zeros<float>(32);
    sample<<<1, 32>>>(point, linear, out, 32);
    show("samples", out, 32);
    cudaDestroyTextureObject(point);
    cudaDestroyTextureObject(linear);
    cudaFreeArray(array);
}
