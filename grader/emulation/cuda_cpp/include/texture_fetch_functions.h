// cuda_runtime.h already declares this part of CUDA.
#pragma once
#include "cuda_runtime.h"
