// Asynchronous copies that are requested but not yet made.
//
// A GPU makes an asynchronous copy to or from pinned memory some time before
// the next call that waits for it. Here it is made at that call, as late as
// possible: a program that reuses its pinned memory without waiting gets the
// wrong data that a GPU might give it. Copies of pageable memory are made at once,
// because the real runtime has read the data when such a call returns.
#pragma once

namespace grader {

// Called first by every call that waits for the device or gives it work.
void finish_copies();

}  // namespace grader
