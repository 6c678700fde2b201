// expect: kind=invalid_copy line=8 cpu=error gpu=memcheck
// The direction says that the matrix is on the device.
#include "copy_first_column.h"

extern "C" void copy_first_column(const float* h_A, float* d_A, int rows, int cols)
{
    const size_t pitch = cols * sizeof(float);
    cudaMemcpy2D(d_A, sizeof(float), h_A, pitch, sizeof(float), rows, cudaMemcpyDeviceToDevice);
}
