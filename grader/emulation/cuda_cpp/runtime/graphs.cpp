#include "graphs.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "checker.h"
#include "children.h"
#include "streams.h"

struct GraderGraphNode {
    std::shared_ptr<void> call;
    void (*run)(void*);
};
struct GraderGraph {
    std::vector<GraderGraphNode> nodes;
};

namespace grader::graphs {

namespace {

constexpr size_t kAlignment = 64;

std::map<cudaStream_t, GraderGraph*>& captures() {
    static std::map<cudaStream_t, GraderGraph*>& all = *new std::map<cudaStream_t, GraderGraph*>;
    return all;
}

std::shared_ptr<void> copied(const void* from, size_t bytes) {
    void* memory = aligned_alloc(kAlignment, (bytes + kAlignment) / kAlignment * kAlignment);
    if (!memory) abort();
    memcpy(memory, from, bytes);
    return std::shared_ptr<void>(memory, free);
}

struct RecordedLaunch {
    LaunchState launch;
    std::shared_ptr<void> parameters;
};

}  // namespace

GraderGraph* capturing(cudaStream_t stream) {
    if (captures().empty()) return nullptr;
    const auto found = captures().find(stream);
    return found == captures().end() ? nullptr : found->second;
}

void join(cudaStream_t stream, GraderGraph* graph) { captures()[stream] = graph; }

void add(GraderGraph* graph, const void* call, size_t bytes, void (*run)(void*)) { graph->nodes.push_back({copied(call, bytes), run}); }

void add_launch(GraderGraph* graph, const LaunchState& launch) {
    auto recorded = std::make_shared<RecordedLaunch>(RecordedLaunch{launch, copied(launch.parameters, launch.parameter_bytes)});
    graph->nodes.push_back({recorded, [](void* self) {
        const RecordedLaunch& r = *static_cast<RecordedLaunch*>(self);
        // A kernel may change its parameters, and the graph runs again.
        const std::shared_ptr<void> own = copied(r.parameters.get(), r.launch.parameter_bytes);
        LaunchState wanted = r.launch;
        wanted.parameters = own.get();
        if (device_lost()) return;
        grader::launch(wanted);
        children::run_all();
    }});
}

}  // namespace grader::graphs

using namespace grader;

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    if (!stream || stream == cudaStreamLegacy) {
        set_error(cudaErrorStreamCaptureUnsupported, false);
        return cudaErrorStreamCaptureUnsupported;
    }
    graphs::join(stream, new GraderGraph);
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    GraderGraph* captured = graphs::capturing(stream);
    if (!captured) {
        set_error(cudaErrorIllegalState, false);
        return cudaErrorIllegalState;
    }
    for (auto at = graphs::captures().begin(); at != graphs::captures().end();)
        at = at->second == captured ? graphs::captures().erase(at) : std::next(at);
    *graph = captured;
    return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
    *status = graphs::capturing(stream) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
    *graph = new GraderGraph;
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete graph;
    return cudaSuccess;
}
cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
    *clone = new GraderGraph(*graph);
    return cudaSuccess;
}
cudaError_t grader_graph_instantiate(cudaGraphExec_t* executable, cudaGraph_t graph) { return cudaGraphClone(executable, graph); }
cudaError_t grader_graph_update(cudaGraphExec_t executable, cudaGraph_t graph) {
    *executable = *graph;
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) { return cudaGraphDestroy(graph); }
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
    if (GraderGraph* into = graphs::capturing(stream)) {
        into->nodes.insert(into->nodes.end(), graph->nodes.begin(), graph->nodes.end());
        return cudaSuccess;
    }
    const std::vector<GraderGraphNode> nodes = graph->nodes;
    const streams::Inside in_order(stream);
    for (const GraderGraphNode& node : nodes) node.run(node.call.get());
    return device_lost() ? cudaPeekAtLastError() : cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
    if (nodes)
        for (size_t i = 0; i < *count && i < graph->nodes.size(); ++i) nodes[i] = &graph->nodes[i];
    else *count = graph->nodes.size();
    return cudaSuccess;
}
cudaGraphNode_t grader_graph_add(cudaGraph_t graph, const void* call, size_t bytes, void (*run)(void*)) {
    graphs::add(graph, call, bytes, run);
    return &graph->nodes.back();
}
int grader_capture(cudaStream_t stream, const void* call, size_t bytes, void (*run)(void*)) {
    GraderGraph* graph = graphs::capturing(stream);
    if (graph) graphs::add(graph, call, bytes, run);
    return graph != nullptr;
}
}
