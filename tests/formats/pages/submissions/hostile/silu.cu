// Prints markup and escapes, and has markup in the lines that a report shows.
#include "silu.h"

#include <cstdio>

__global__ void silu_kernel(const float* input, float* output, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    output[i] = input[i]; // </code></pre><script>document.title = "owned"</script><img src=x onerror=alert(1)>
}

extern "C" void silu(const float* input, float* output, int n)
{
    printf("</pre></details><script>document.title='owned'</script><img src=\"https://example.com/x\">\n");
    printf("<style>body{display:none}</style>{{ 7*7 }}{%% raw %%} \x1b[2J\x1b]0;owned\x07 \xe2\x80\xae evil\n");
    fflush(stdout);
    if (n > 0) silu_kernel<<<(n + 31) / 32, 32>>>(input, output, n);
}
