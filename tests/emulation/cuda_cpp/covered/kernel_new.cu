#include "result.cuh"
struct Node {
    int value;
    Node* next;
};
__global__ void sum_list(int* out) {
    Node* head = nullptr;
    for (int i = 0; i <= threadIdx.x % 8; ++i) head = new Node{i, head};  // FAULT leak
    int sum = 0;
    while (head) {
        Node* next = head->next;
        sum += head->value;
#ifndef PLANTED
        delete head;
#endif
        head = next;
    }
    out[threadIdx.x] = sum;
}
int main() {
    int* out = zeros<int>(32);
    sum_list<<<1, 32>>>(out);
    show("sums", out, 32);
}
