// OpenMP: a program runs in one thread here, as nvcc compiles it without its compiler's flag.
#pragma once
#include <time.h>

typedef struct { int held; } omp_lock_t;
inline int omp_get_num_threads() { return 1; }
inline int omp_get_max_threads() { return 1; }
inline int omp_get_thread_num() { return 0; }
inline int omp_get_num_procs() { return 1; }
inline int omp_in_parallel() { return 0; }
inline void omp_set_num_threads(int) {}
inline void omp_set_dynamic(int) {}
inline void omp_set_nested(int) {}
inline void omp_init_lock(omp_lock_t* lock) { lock->held = 0; }
inline void omp_set_lock(omp_lock_t* lock) { lock->held = 1; }
inline void omp_unset_lock(omp_lock_t* lock) { lock->held = 0; }
inline void omp_destroy_lock(omp_lock_t*) {}
inline double omp_get_wtime() {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
