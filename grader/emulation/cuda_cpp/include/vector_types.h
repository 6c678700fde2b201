// Part of CUDA that cuda_runtime.h already declares here.
#pragma once
#include "cuda_runtime.h"
