#include "../memory.cuh"
struct Particle { float3 position, velocity; };
__global__ void move(Particle* p, int n, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle q = p[i];
    q.position.x += dt * q.velocity.x;
    q.position.y += dt * q.velocity.y;
    q.position.z += dt * q.velocity.z;
    p[i] = q;
}
int main() {
    float* p = numbered<float>(6 * 100);
    move<<<2, 64>>>((Particle*)p, 100, 0.1f);
    return finish(p);
}
