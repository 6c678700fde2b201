// Graphs and the capture of streams. Definitions in ../../runtime/graphs.cpp.
//
// A node is a call with its arguments. Nodes run in the order in which they were added, which is one
// of the orders that the dependencies allow.
#pragma once

typedef struct GraderGraph* cudaGraph_t;
typedef struct GraderGraph* cudaGraphExec_t;
typedef struct GraderGraphNode* cudaGraphNode_t;
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal = 0, cudaStreamCaptureModeThreadLocal = 1, cudaStreamCaptureModeRelaxed = 2 };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone = 0, cudaStreamCaptureStatusActive = 1, cudaStreamCaptureStatusInvalidated = 2 };
enum { cudaGraphInstantiateFlagAutoFreeOnLaunch = 1 };
struct cudaHostNodeParams {
    cudaHostFn_t fn;
    void* userData;
};
struct cudaMemsetParams {
    void* dst;
    size_t pitch;
    unsigned value, elementSize;
    size_t width, height;
};
struct cudaGraphExecUpdateResultInfo { int result; };

extern "C" {
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph);
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);
cudaError_t grader_graph_instantiate(cudaGraphExec_t* executable, cudaGraph_t graph);
cudaError_t grader_graph_update(cudaGraphExec_t executable, cudaGraph_t graph);
cudaGraphNode_t grader_graph_add(cudaGraph_t graph, const void* call, size_t bytes, void (*run)(void*));
}

namespace grader {
// Adds a call to a graph; its closure holds only plain values.
template <class Call> GRADER_INLINE cudaError_t add_node(cudaGraph_t graph, cudaGraphNode_t* node, Call call) {
    cudaGraphNode_t made = grader_graph_add(graph, &call, sizeof call, run_call<Call>);
    if (node) *node = made;
    return cudaSuccess;
}
}  // namespace grader

GRADER_INLINE cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long = 0) {
    return grader_graph_instantiate(executable, graph);
}
GRADER_INLINE cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long = 0) {
    return grader_graph_instantiate(executable, graph);
}
GRADER_INLINE cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, cudaGraphNode_t*, char*, size_t) {
    return grader_graph_instantiate(executable, graph);
}
GRADER_INLINE cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
GRADER_INLINE cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info) {
    if (info) info->result = 0;
    return grader_graph_update(executable, graph);
}
GRADER_INLINE cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t*, size_t) {
    return grader::add_node(graph, node, [] {});
}
GRADER_INLINE cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t*, size_t, void* to,
                                                   const void* from, size_t bytes, cudaMemcpyKind kind) {
    return grader::add_node(graph, node, [=] { cudaMemcpy(to, from, bytes, kind); });
}
GRADER_INLINE cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t*, size_t, const cudaMemsetParams* p) {
    if (p->elementSize != 1 && p->value != 0) return grader_refuse("memsets of words", "a memset node of a graph sets words to a value other than 0");
    return grader::add_node(graph, node, [p = *p] { cudaMemset2D(p.dst, p.pitch ? p.pitch : p.width * p.elementSize, (int)p.value, p.width * p.elementSize, p.height); });
}
GRADER_INLINE cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t*, size_t, const cudaHostNodeParams* p) {
    return grader::add_node(graph, node, [p = *p] { p.fn(p.userData); });
}
GRADER_INLINE cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t*, size_t, cudaGraph_t child) {
    return grader::add_node(graph, node, [child] { cudaGraphLaunch(child, nullptr); });
}
GRADER_INLINE cudaError_t cudaGraphAddDependencies(cudaGraph_t, const cudaGraphNode_t*, const cudaGraphNode_t*, size_t) { return cudaSuccess; }
