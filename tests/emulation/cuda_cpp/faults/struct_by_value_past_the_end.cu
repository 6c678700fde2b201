// tool: memcheck
#include "../memory.cuh"
struct Point { float x, y, z; };
__device__ __noinline__ Point moved(Point p) {
    p.x += 1;
    return p;
}
__global__ void move(const Point* in, Point* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) out[i] = moved(in[i]);  // FAULT out_of_bounds
}
int main() {
    Point* in = (Point*)numbered<float>(3 * 100);
    Point* out = (Point*)blank<float>(3 * 100);
    move<<<1, 128>>>(in, out, 100);
    return finish(in, out);
}
