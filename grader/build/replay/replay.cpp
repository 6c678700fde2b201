// Replay the launches of Triton kernels on a GPU: no Python, no torch, no code of a submission.
//
//     replay SECONDS [SAVED] 3< recording      kernels.txt and N.cubin are in the current folder
//
// SIGALRM ends the program SECONDS after it has opened the GPU; 0 is no limit.
//
// compute-sanitizer runs this program, so every storage is an allocation of its own, of exactly its
// size, and only what host code has written is initialised. With SAVED, the contents of the storages
// that a call wants saved go to that file, call by call. `grader/worker/launch_recording.py`
// describes a recording. Each kernel is a line of words in kernels.txt:
//
//     cubin name threads shared ctas cooperative parameters
//     scratch_bytes scratch_alignment profile_bytes profile_alignment descriptors
//
// and for each descriptor that the kernel takes as a tensor map:
//
//     swizzle element_bytes element_type halves rank block…
//
// Exit codes: 0, 1 if the GPU or a launch failed, 2 if the input is malformed.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace {

using Word = std::uint64_t;
using Address = unsigned long long;  // CUdeviceptr

[[noreturn]] void fail(int code, const std::string& message)
{
    std::fprintf(stderr, "replay: %s\n", message.c_str());
    std::exit(code);
}

void require(bool held, const char* what)
{
    if (!held) fail(2, std::string("malformed input: ") + what);
}

// ---- the driver, loaded by name, so that no CUDA toolkit is needed to build this ----

struct LaunchAttribute {
    int id;
    char padding[4];
    union {
        char size[64];
        int number;
        unsigned extent[3];
    };
};

struct LaunchConfig {
    unsigned grid[3];
    unsigned block[3];
    unsigned shared;
    void* stream;
    LaunchAttribute* attributes;
    unsigned count;
};

struct alignas(64) TensorMap {
    Word words[16];
};

constexpr int kCooperative = 2, kCluster = 4, kClusterPolicy = 5, kSpread = 1;  // launch attributes
constexpr int kDynamicShared = 8, kLargeCluster = 14;                           // function attributes
constexpr unsigned kDefaultShared = 48u << 10;
constexpr unsigned kPortableCluster = 8;

struct Driver {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);

    template <class F>
    F* function(const char* name) const
    {
        void* found = library ? dlsym(library, name) : nullptr;
        if (!found) fail(1, std::string("the driver has no ") + name);
        return reinterpret_cast<F*>(found);
    }

    void check(int result, const std::string& what) const
    {
        if (result == 0) return;
        const char* text = nullptr;
        function<int(int, const char**)>("cuGetErrorString")(result, &text);
        fail(1, what + ": " + (text ? text : "unknown error") + " (" + std::to_string(result) + ")");
    }

    template <class... Given>
    void call(const char* name, Given... given) const
    {
        check(function<int(Given...)>(name)(given...), name);
    }
};

// ---- input ----

struct Descriptor {
    unsigned swizzle, element_bytes, element_type, halves, rank;
    unsigned block[5];
};

struct Kernel {
    std::string cubin, name;
    unsigned threads, shared, ctas, cooperative, parameters;
    Word scratch_bytes, scratch_alignment, profile_bytes, profile_alignment;
    std::vector<Descriptor> descriptors;
    void* function = nullptr;
};

std::vector<Kernel> read_kernels()
{
    std::ifstream in("kernels.txt");
    require(bool(in), "no kernels.txt");
    std::vector<Kernel> kernels;
    Kernel k;
    std::size_t descriptors;
    while (in >> k.cubin >> k.name >> k.threads >> k.shared >> k.ctas >> k.cooperative >>
           k.parameters >> k.scratch_bytes >> k.scratch_alignment >> k.profile_bytes >>
           k.profile_alignment >> descriptors) {
        require(descriptors <= 64, "too many descriptors");
        k.descriptors.assign(descriptors, {});
        for (Descriptor& d : k.descriptors) {
            in >> d.swizzle >> d.element_bytes >> d.element_type >> d.halves >> d.rank;
            require(in && d.rank >= 1 && d.rank <= 5, "a descriptor's rank");
            for (unsigned i = 0; i < d.rank; ++i) in >> d.block[i];
        }
        kernels.push_back(k);
    }
    require(in.eof() && !in.bad(), "a line of kernels.txt");
    return kernels;
}

class Reader {
public:
    explicit Reader(int file)
    {
        struct stat found {};
        require(fstat(file, &found) == 0 && found.st_size >= 8, "no recording");
        size_ = static_cast<std::size_t>(found.st_size);
        void* mapped = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
        require(mapped != MAP_FAILED, "the recording cannot be mapped");
        data_ = static_cast<const char*>(mapped);
    }

    bool ended() const { return at_ == size_; }

    Word word()
    {
        Word value;
        std::memcpy(&value, bytes(sizeof value), sizeof value);
        return value;
    }

    const char* bytes(Word count)
    {
        require(count <= size_ - at_, "the recording ends early");
        const char* here = data_ + at_;
        at_ += static_cast<std::size_t>(count);
        return here;
    }

private:
    const char* data_ = nullptr;
    std::size_t size_ = 0, at_ = 0;
};

constexpr int kRecording = 3;
constexpr Word kMagic = 0x5345'4843'4E55'414Cu;  // "LAUNCHES"
enum : Word { kCall = 1, kAllocate, kFree, kWrite, kAddress, kLaunch, kEnd };
enum : Word { kPointer = 1, kNumber, kDescriptor };

// ---- replay ----

struct Storage {
    Address address;
    Word size;
    bool saved;
};

class Replay {
public:
    Replay(Reader& in, unsigned seconds, const char* saved) : in_(in)
    {
        if (saved) out_.open(saved, std::ios::binary);
        int device = 0;
        void* context = nullptr;
        driver_.call("cuInit", 0u);
        driver_.call("cuDeviceGet", &device, 0);
        driver_.call("cuDevicePrimaryCtxRetain", &context, device);
        driver_.call("cuCtxSetCurrent", context);
        alarm(seconds);
    }

    void run()
    {
        require(in_.word() == kMagic, "not a recording");
        while (!in_.ended()) {
            switch (in_.word()) {
                case kCall: clear(); break;
                case kAllocate: allocate(); break;
                case kFree: release(in_.word()); break;
                case kWrite: write(); break;
                case kAddress: write_address(); break;
                case kLaunch: launch(); break;
                case kEnd: save(); break;
                default: require(false, "an unknown record");
            }
        }
        clear();
    }

private:
    void clear()
    {
        while (!storages_.empty()) release(storages_.begin()->first);
    }

    Address make(Word size)
    {
        Address address = 0;
        driver_.call("cuMemAlloc_v2", &address, static_cast<std::size_t>(size ? size : 1));
        return address;
    }

    void allocate()
    {
        const Word id = in_.word(), size = in_.word(), saved = in_.word();
        require(!storages_.count(id), "a storage twice");
        require(size <= Word(1) << 40, "a storage of more than a terabyte");
        storages_[id] = {make(size), size, saved != 0};
    }

    void release(Word id)
    {
        driver_.call("cuMemFree_v2", storage(id).address);
        storages_.erase(id);
    }

    Storage& storage(Word id)
    {
        const auto found = storages_.find(id);
        require(found != storages_.end(), "an unknown storage");
        return found->second;
    }

    void put(Address to, const void* from, Word size)
    {
        driver_.call("cuMemcpyHtoD_v2", to, from, static_cast<std::size_t>(size));
    }

    // The address of an offset in a storage, with that many bytes behind it.
    Address place(Word id, Word offset, Word size)
    {
        const Storage& s = storage(id);
        require(offset <= s.size && size <= s.size - offset, "an offset outside of its storage");
        return s.address + offset;
    }

    void write()
    {
        const Word id = in_.word(), offset = in_.word(), size = in_.word();
        const Address to = place(id, offset, size);
        put(to, in_.bytes((size + 7) / 8 * 8), size);
    }

    void write_address()
    {
        const Word id = in_.word(), offset = in_.word();
        const Address to = place(id, offset, sizeof(Address));
        const Word target = in_.word();
        const Address value = place(target, in_.word(), 0);
        put(to, &value, sizeof value);
    }

    void save()
    {
        if (!out_.is_open()) return;
        for (const auto& [id, s] : storages_) {
            if (!s.saved || !s.size) continue;
            std::vector<char> content(s.size);
            driver_.call("cuMemcpyDtoH_v2", static_cast<void*>(content.data()), s.address,
                         content.size());
            out_.write(content.data(), static_cast<std::streamsize>(content.size()));
        }
        out_.flush();
        if (!out_) fail(1, "the outputs cannot be written");
    }

    void load(Kernel& kernel)
    {
        std::ifstream file(kernel.cubin, std::ios::binary);
        const std::string image{std::istreambuf_iterator<char>(file), {}};
        require(!image.empty(), "a cubin is missing");
        void* module = nullptr;
        driver_.call("cuModuleLoadData", &module, static_cast<const void*>(image.data()));
        driver_.call("cuModuleGetFunction", &kernel.function, module, kernel.name.c_str());
        if (kernel.shared > kDefaultShared)
            driver_.call("cuFuncSetAttribute", kernel.function, kDynamicShared,
                         static_cast<int>(kernel.shared));
        if (kernel.ctas > kPortableCluster)
            driver_.call("cuFuncSetAttribute", kernel.function, kLargeCluster, 1);
    }

    // A tensor map as Triton's own launcher makes it.
    TensorMap tensor_map(const Descriptor& d, Address base, const std::vector<Word>& extents,
                         const std::vector<Word>& steps, bool nan)
    {
        require(extents.size() == d.rank, "a descriptor of another rank");
        std::uint64_t shape[5] = {}, strides[5] = {};
        std::uint32_t block[5] = {};
        const std::uint32_t element_strides[5] = {1, 1, 1, 1, 1};
        for (unsigned i = 0; i < d.rank; ++i) {
            const unsigned from = d.rank - 1 - i;  // the driver's order: the innermost first
            shape[i] = extents[from] * (i == 0 && d.halves ? 2 : 1);
            block[i] = d.block[from];
            if (i) strides[i - 1] = d.element_bytes * steps[from];
        }
        TensorMap map{};
        using Encode = int(TensorMap*, int, std::uint32_t, void*, const std::uint64_t*,
                           const std::uint64_t*, const std::uint32_t*, const std::uint32_t*, int, int,
                           int, int);
        constexpr int no_interleave = 0, promotion_128 = 2;
        const auto encode = driver_.function<Encode>("cuTensorMapEncodeTiled");
        driver_.check(encode(&map, static_cast<int>(d.element_type), d.rank,
                             reinterpret_cast<void*>(base), shape, strides, block, element_strides,
                             no_interleave, static_cast<int>(d.swizzle), promotion_128, nan),
                      "cuTensorMapEncodeTiled");
        return map;
    }

    // Memory that the compiler asked for. It is no business of the submission's, and what writes it
    // (a tensor map, by way of shared memory) initcheck does not see: so it is initialised.
    Address scratch(Word bytes, Word alignment, Word blocks, std::vector<Address>& made)
    {
        if (!bytes) return 0;
        const Word size = bytes * blocks + alignment;
        made.push_back(make(size));
        driver_.call("cuMemsetD8_v2", made.back(), static_cast<unsigned char>(0),
                     static_cast<std::size_t>(size));
        return alignment > 1 ? (made.back() + alignment - 1) / alignment * alignment : made.back();
    }

    void launch()
    {
        const Word number = in_.word();
        require(number < kernels_.size(), "an unknown kernel");
        Kernel& kernel = kernels_[number];
        if (!kernel.function) load(kernel);
        const Word x = in_.word(), y = in_.word(), z = in_.word(), count = in_.word();
        require(x && y && z && x <= 0x7fffffff && y <= 65535 && z <= 65535, "a grid");
        require(count <= 4096, "too many arguments");

        std::vector<Word> words;  // the parameters that are not tensor maps
        std::vector<TensorMap> maps;
        std::vector<bool> is_map;
        const auto add = [&](Word value) {
            words.push_back(value);
            is_map.push_back(false);
        };
        std::size_t flags_at = 0, descriptors = 0;
        for (Word i = 0; i < count; ++i) {
            const Word kind = in_.word();
            require(kind >= kPointer && kind <= kDescriptor, "an unknown argument");
            if (kind == kNumber) {
                add(in_.word());
                continue;
            }
            const Word id = in_.word();
            const Address base = place(id, in_.word(), 0);
            if (kind == kPointer) {
                add(base);
                continue;
            }
            const Word rank = in_.word(), nan = in_.word();
            require(rank >= 1 && rank <= 5, "a descriptor's rank");
            std::vector<Word> extents(rank), steps(rank);
            for (Word& extent : extents) extent = in_.word();
            for (Word& step : steps) step = in_.word();
            if (kernel.descriptors.empty()) {  // a GPU without tensor maps
                add(base);
                for (Word extent : extents) add(extent);
                for (Word step : steps) add(step);
                add(nan);
                flags_at = words.size();
            } else {
                require(descriptors < kernel.descriptors.size(), "too many descriptors");
                const Descriptor& d = kernel.descriptors[descriptors];
                maps.push_back(tensor_map(d, base, extents, steps, nan != 0));
                is_map.push_back(true);
            }
            ++descriptors;
        }
        // Newer versions of Triton have one more flag in each descriptor that is no tensor map.
        if (flags_at && kernel.parameters == words.size() + 2 + descriptors) {
            require(descriptors == 1, "several descriptors on a GPU without tensor maps");
            words.insert(words.begin() + static_cast<std::ptrdiff_t>(flags_at), 0);
            is_map.push_back(false);
        }

        std::vector<Address> made;
        const Word blocks = x * y * z * kernel.ctas;
        add(scratch(kernel.scratch_bytes, kernel.scratch_alignment, blocks, made));
        add(scratch(kernel.profile_bytes, kernel.profile_alignment, blocks, made));
        while (is_map.size() < kernel.parameters) add(0);
        std::vector<void*> parameters;
        std::size_t next_word = 0, next_map = 0;
        for (const bool map : is_map)
            parameters.push_back(map ? static_cast<void*>(&maps[next_map++])
                                     : static_cast<void*>(&words[next_word++]));

        LaunchAttribute attributes[3] = {};
        LaunchConfig config = {{unsigned(x) * kernel.ctas, unsigned(y), unsigned(z)},
                               {kernel.threads, 1, 1},
                               kernel.shared,
                               nullptr,
                               attributes,
                               0};
        if (kernel.cooperative) {
            LaunchAttribute& attribute = attributes[config.count++];
            attribute.id = kCooperative;
            attribute.number = 1;
        }
        if (kernel.ctas > 1) {
            LaunchAttribute& cluster = attributes[config.count++];
            cluster.id = kCluster;
            cluster.extent[0] = kernel.ctas;
            cluster.extent[1] = cluster.extent[2] = 1;
            LaunchAttribute& policy = attributes[config.count++];
            policy.id = kClusterPolicy;
            policy.number = kSpread;
        }
        const std::string what = "launch of " + kernel.name;
        if (config.count) {
            const auto start = driver_.function<int(const LaunchConfig*, void*, void**, void**)>(
                "cuLaunchKernelEx");
            driver_.check(start(&config, kernel.function, parameters.data(), nullptr), what);
        } else {
            using Start = int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                              unsigned, void*, void**, void**);
            const auto start = driver_.function<Start>("cuLaunchKernel");
            driver_.check(start(kernel.function, config.grid[0], config.grid[1], config.grid[2],
                                kernel.threads, 1, 1, kernel.shared, nullptr, parameters.data(),
                                nullptr),
                          what);
        }
        driver_.check(driver_.function<int()>("cuCtxSynchronize")(), what);
        for (const Address address : made) driver_.call("cuMemFree_v2", address);
    }

    Reader& in_;
    Driver driver_;
    std::ofstream out_;
    std::vector<Kernel> kernels_ = read_kernels();
    std::map<Word, Storage> storages_;
};

}  // namespace

int main(int count, char** words)
{
    require(count > 1, "no SECONDS");
    Reader in(kRecording);
    Replay(in, static_cast<unsigned>(std::atoi(words[1])), count > 2 ? words[2] : nullptr).run();
    return 0;
}
