// Gathers into pinned memory in two halves: one is filled while the other is on its way.
#include "copy_first_column.h"

constexpr int PIECE = 4096;  // rows per half

extern "C" void copy_first_column(const float* h_A, float* d_A, int rows, int cols)
{
    float* half[2] = {};
    cudaEvent_t sent[2];
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    for (int i = 0; i < 2; ++i) {
        cudaHostAlloc(&half[i], PIECE * sizeof(float), cudaHostAllocDefault);
        cudaEventCreateWithFlags(&sent[i], cudaEventDisableTiming);
    }
    for (int first = 0, i = 0; first < rows; first += PIECE, i = 1 - i) {
        const int count = rows - first < PIECE ? rows - first : PIECE;
        cudaEventSynchronize(sent[i]);  // at once if it has never been recorded
        for (int k = 0; k < count; ++k) half[i][k] = h_A[static_cast<size_t>(first + k) * cols];
        cudaMemcpyAsync(d_A + first, half[i], count * sizeof(float), cudaMemcpyHostToDevice, stream);
        cudaEventRecord(sent[i], stream);
    }
    cudaStreamSynchronize(stream);
    for (int i = 0; i < 2; ++i) {
        cudaEventDestroy(sent[i]);
        cudaFreeHost(half[i]);
    }
    cudaStreamDestroy(stream);
}
