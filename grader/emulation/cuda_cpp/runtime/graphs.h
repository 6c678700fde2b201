// The graph that a stream captures into; its launches and copies are recorded, not performed.
#pragma once

#include "worker.h"

struct GraderGraph;

namespace grader::graphs {

// Null unless the stream is being captured. Streams that wait for an event of it join the capture.
GraderGraph* capturing(cudaStream_t stream);
void join(cudaStream_t stream, GraderGraph* graph);
void add(GraderGraph* graph, const void* call, size_t bytes, void (*run)(void*));
// A launch of the host, with its parameters.
void add_launch(GraderGraph* graph, const LaunchState& launch);

}  // namespace grader::graphs
