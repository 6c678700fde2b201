// See cuda_pipeline.h.
#pragma once
#include "cuda_pipeline.h"
