#pragma once
#include "../../grader_host/cub_block.h"
