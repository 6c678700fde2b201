// tool: initcheck
#include "../memory.cuh"
struct Node {
    Node* next;
    int value;  // four bytes of padding follow
};
struct Wide {
    double x[3];
    char tag;  // seven bytes of padding follow
};
__global__ void total(const Node* first, const Wide* wide, Wide* copy, int* sum) {
    for (const Node* n = first; n; n = n->next) {
        Node node = *n;
        *sum += node.value;
    }
    *copy = *wide;
}
int main() {
    Node* nodes;
    Wide* wide;
    int* sum;
    FILE* zeros = fopen("/dev/zero", "rb");
    cudaMallocManaged(&nodes, 4 * sizeof(Node));
    cudaMallocManaged(&wide, 2 * sizeof(Wide));
    cudaMallocHost(&sum, sizeof(int));
    if (!zeros || fread(sum, sizeof(int), 1, zeros) != 1) return 1;
    fclose(zeros);
    for (int i = 0; i < 4; ++i) {
        nodes[i].next = i < 3 ? &nodes[i + 1] : nullptr;
        nodes[i].value = i;
    }
    for (double& x : wide[0].x) x = 1;
    wide[0].tag = 'a';
    total<<<1, 1>>>(nodes, wide, wide + 1, sum);
    cudaDeviceSynchronize();
    const bool right = *sum == 6 && wide[1].x[2] == 1;
    cudaFree(nodes);
    cudaFree(wide);
    cudaFreeHost(sum);
    return !right;
}
