// The C interface of every built object, for the program that loads it.
#pragma once

#define GRADER_EXPORT extern "C" __attribute__((visibility("default")))

// Maps a file into the device's memory as [guard bytes][data][guard bytes]
// and returns the device pointer to the data; only the data is valid for a
// kernel. `writable` 0 maps without write access (the file may be sealed with
// F_SEAL_FUTURE_WRITE). Null on failure, with errno set.
GRADER_EXPORT void* grader_attach(int fd, unsigned long long map_bytes, unsigned long long data_offset,
                                  unsigned long long data_bytes, int writable, const char* name);

// Declares an array in host memory, which the caller has mapped at `map` as
// [guard bytes][data][guard bytes]: kernels may access it only if it is
// registered, and copies must stay within its bounds.
GRADER_EXPORT void grader_attach_host(const void* map, unsigned long long map_bytes, unsigned long long data_offset,
                                      unsigned long long data_bytes, int writable, const char* name);

// Declares that the kernel must write this buffer before it reads it.
GRADER_EXPORT void grader_expect_output(const void* pointer);

// Unmaps every attached buffer, and forgets the caller's host arrays.
GRADER_EXPORT void grader_detach_all(void);

// Announces grader_call, and whether it repeats the previous call with the same
// sizes. From then on, unfreed memory is a leak only if a repeat leaves more of
// it, per allocating line: memory that the first call keeps for later calls is
// no leak. Without this call, in a program with a main, all memory that is not
// freed at the end is a leak.
GRADER_EXPORT void grader_call_begins(int repeat);

// Sets the descriptor for findings, counters and faults (JSON lines), and installs
// the handler for fatal signals. grader_flush_report writes the findings.
GRADER_EXPORT void grader_open_report(int fd);
GRADER_EXPORT void grader_flush_report(void);

// Settings as `key=value` words separated by spaces (see docs/host.md):
//   schedule=forward|reverse|random|interleaved  seed=N  os_threads=N  access_limit=N
//   count=0|1  counted_blocks=N  check=0|1  protect=0|1  device_bytes=N
//   shared_limit=BYTES  registers=KERNEL:COUNT  trace=0|1
// Returns 0, or -1 if a word is unknown (the others are set).
GRADER_EXPORT int grader_configure(const char* words);
