#include "result.cuh"
__global__ void fill(cudaPitchedPtr p, int w, int h, int d) {
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z + PLANT(1, 0);
    if (x >= w || y >= h || z > d) return;
    float* row = (float*)((char*)p.ptr + (z * h + y) * p.pitch);
    row[x] = x + 10 * y + 100 * z;  // FAULT out_of_bounds
}
int main() {
    const int w = 20, h = 5, d = 4;
    cudaExtent extent = make_cudaExtent(w * sizeof(float), h, d);
    cudaPitchedPtr p;
    cudaMalloc3D(&p, extent);
    cudaMemset3D(p, 0, extent);
    fill<<<1, dim3(w, h, d)>>>(p, w, h, d);
    float* flat = zeros<float>(w * h * d);
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = p;
    copy.dstPtr = make_cudaPitchedPtr(flat, w * sizeof(float), w * sizeof(float), h);
    copy.extent = extent;
    copy.kind = cudaMemcpyDeviceToDevice;
    cudaMemcpy3D(&copy);
    show("volume", flat, w * h * d);
    cudaFree(p.ptr);
}
