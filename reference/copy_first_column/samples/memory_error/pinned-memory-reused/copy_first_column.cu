// expect: device=cpu why="on a GPU the copy may win the race"
// The next piece is gathered into pinned memory that the last copy may still be reading.
#include "copy_first_column.h"

constexpr int PIECE = 256;  // rows

extern "C" void copy_first_column(const float* h_A, float* d_A, int rows, int cols)
{
    float* piece = nullptr;
    cudaMallocHost(&piece, PIECE * sizeof(float));
    for (int first = 0; first < rows; first += PIECE) {
        const int count = rows - first < PIECE ? rows - first : PIECE;
        for (int k = 0; k < count; ++k) piece[k] = h_A[static_cast<size_t>(first + k) * cols];
        cudaMemcpyAsync(d_A + first, piece, count * sizeof(float), cudaMemcpyHostToDevice);
    }
    cudaDeviceSynchronize();
    cudaFreeHost(piece);
}
