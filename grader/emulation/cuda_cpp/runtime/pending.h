// Pending asynchronous copies.
//
// A GPU performs an asynchronous copy to or from pinned memory some time before
// the next call that waits for it. The emulation performs it at that call, as late
// as possible: a program that reuses its pinned memory without waiting gets wrong
// data, as it might on a GPU. Copies of pageable memory are immediate, because the
// real runtime has read the data when such a call returns.
#pragma once

namespace grader {

// Every call that waits for the device or gives it work calls this first.
void finish_copies();

}  // namespace grader
