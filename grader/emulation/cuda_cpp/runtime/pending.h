// Copies that have been asked for and not been made.
//
// A GPU makes an asynchronous copy to or from pinned memory some time before
// the next call that waits for it. Here it is made at that call, the last
// moment there is: a program that does not wait, but reuses its pinned memory,
// gets what it might get on a GPU. Copies of pageable memory are made at once,
// as the real runtime has taken the data when such a call returns.
#pragma once

namespace grader {

// Every call that waits for the device or gives it work does this first.
void finish_copies();

}  // namespace grader
