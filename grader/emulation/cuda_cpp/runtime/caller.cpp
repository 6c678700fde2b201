#include "caller.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "arena.h"
#include "checker.h"
#include "fault.h"
#include "host_memory.h"
#include "launch_limits.h"
#include "report.h"
#include "worker.h"

using namespace grader;

void* grader_attach(int fd, unsigned long long map_bytes, unsigned long long data_offset, unsigned long long data_bytes,
                    int writable, const char* name) {
    Allocation* a = arena::attach(fd, map_bytes, data_offset, data_bytes, writable != 0, name);
    if (!a) return nullptr;
    checker::allocated(*a, true);
    return reinterpret_cast<void*>(a->begin);
}

void grader_attach_host(const void* map, unsigned long long map_bytes, unsigned long long data_offset,
                        unsigned long long data_bytes, int writable, const char* name) {
    host_memory::Array array = {};
    array.map_begin = reinterpret_cast<uintptr_t>(map);
    array.map_end = array.map_begin + map_bytes;
    array.begin = array.map_begin + data_offset;
    array.end = array.begin + data_bytes;
    array.writable = writable != 0;
    snprintf(array.name, sizeof array.name, "%s", name ? name : "");
    host_memory::add(array);
}

void grader_expect_output(const void* pointer) {
    if (Allocation* a = arena::find(reinterpret_cast<uintptr_t>(pointer))) checker::allocated(*a, false);
}

void grader_detach_all(void) {
    for (uint32_t i = 0; i < arena::count(); ++i) {
        Allocation& a = arena::allocations[i];
        if (a.live && a.origin == Allocation::Origin::attached) checker::released(a);
    }
    arena::detach_all();
    host_memory::forget_arrays();
}

void grader_call_begins(int repeat) {
    arena::settle();
    call_begins();
    checker::call_begins(repeat != 0);
}

void grader_open_report(int fd) {
    report::open(fd);
    fault::install();
}

void grader_flush_report(void) { checker::flush(false); }

namespace {

bool set(const char* key, size_t key_length, const char* value) {
    auto is = [&](const char* name) { return strlen(name) == key_length && memcmp(key, name, key_length) == 0; };
    uint64_t number = strtoull(value, nullptr, 10);
    if (is("schedule")) {
        if (strcmp(value, "forward") == 0) settings.schedule = Schedule::forward;
        else if (strcmp(value, "reverse") == 0) settings.schedule = Schedule::reverse;
        else if (strcmp(value, "random") == 0) settings.schedule = Schedule::random;
        else if (strcmp(value, "interleaved") == 0) settings.schedule = Schedule::interleaved;
        else return false;
    } else if (is("seed")) settings.seed = number;
    else if (is("os_threads")) settings.os_threads = static_cast<unsigned>(number);
    else if (is("access_limit")) settings.access_limit = number;
    else if (is("trace")) settings.trace = number != 0;
    else if (is("writers")) settings.writers = number != 0;
    else if (is("count")) settings.count = number != 0;
    else if (is("counted_blocks")) settings.counted_blocks = static_cast<unsigned>(number);
    else if (is("check")) settings.check = number != 0;
    else if (is("shared_limit")) settings.shared_limit = number;
    else if (is("registers")) return launch_limits::set_registers(value);
    else if (is("protect")) arena::configure(number != 0, 0);
    else if (is("device_bytes")) arena::configure(true, number);
    else return false;
    return true;
}

}  // namespace

int grader_configure(const char* words) {
    int result = 0;
    while (*words) {
        words += strspn(words, " \n");
        size_t length = strcspn(words, " \n");
        if (length == 0) break;
        char word[128];
        const char* equals = static_cast<const char*>(memchr(words, '=', length));
        if (!equals || length >= sizeof word) {
            result = -1;
        } else {
            memcpy(word, words, length);
            word[length] = 0;
            size_t key_length = static_cast<size_t>(equals - words);
            if (!set(word, key_length, word + key_length + 1)) result = -1;
        }
        words += length;
    }
    return result;
}

// A stand-alone program takes its settings from the environment, which
// python -m grader.emulation.cuda_cpp sets.
__attribute__((constructor)) static void start_from_environment() {
    if (const char* words = getenv("GRADER_HOST_SETTINGS")) grader_configure(words);
    if (const char* fd = getenv("GRADER_HOST_REPORT_FD")) {
        grader_open_report(atoi(fd));
        atexit(grader_flush_report);
    }
}
