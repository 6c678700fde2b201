#pragma once
#include "../grader_host/thrust_vector.h"
