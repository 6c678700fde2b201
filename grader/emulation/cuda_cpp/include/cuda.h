// The driver API is not supported; programs include this header for the version
// and for types that cuda_runtime.h declares.
#pragma once
#include "cuda_runtime.h"
