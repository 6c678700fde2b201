#pragma once
#include "../grader_host/thrust_algorithms.h"
