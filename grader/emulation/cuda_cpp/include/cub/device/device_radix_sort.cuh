#pragma once
#include "../../grader_host/cub_device.h"
