// tool: memcheck
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "../memory.cuh"
__global__ void twice(int* a) { a[threadIdx.x] *= 2; }
int main() {
    // Memory that a library allocates, frees and uses again beside that of this file.
    std::string text = "begin";
    std::map<std::string, std::vector<int>> lists;
    std::unordered_map<int, std::string> names;
    for (int i = 0; i < 2000; ++i) {
        text += char('a' + i % 26);
        text.insert(text.size() / 2, std::to_string(i));
        names[i % 97] += text.substr(text.size() - 5);
        lists[names[i % 97].substr(0, 3)].push_back(i);
        std::ostringstream out;
        out << text.substr(0, i % 7) << i;
        std::string line = out.str();
        line.push_back('!');
        std::istringstream in(line);
        std::getline(in, names[i % 89]);
        char* copy = strdup(line.c_str());
        copy[0] = 'x';
        free(copy);
        auto shared = std::make_shared<std::vector<double>>(i % 33 + 1, 1.0);
        shared->resize(2 * shared->size());
        if (std::accumulate(shared->begin(), shared->end(), 0.0) != i % 33 + 1) return 1;
    }
    char* grown = nullptr;
    for (int bytes = 1; bytes < 5000; bytes += 37) {
        grown = (char*)realloc(grown, bytes);
        memset(grown, 1, bytes);
    }
    free(grown);
    void* aligned;
    if (posix_memalign(&aligned, 256, 1000)) return 1;
    memset(aligned, 0, 1000);
    free(aligned);
    std::thread([&] { std::sort(text.begin(), text.end()); }).join();
    std::vector<int> host(32);
    std::iota(host.begin(), host.end(), 0);
    int* device = zeros<int>(32);
    cudaMemcpy(device, host.data(), 32 * sizeof(int), cudaMemcpyHostToDevice);
    twice<<<1, 32>>>(device);
    cudaMemcpy(host.data(), device, 32 * sizeof(int), cudaMemcpyDeviceToHost);
    return finish(device) || host[31] != 62;
}
