"""The trusted side: it owns the data and the clock, and checks everything a worker reports.

    judge (this process)                            worker (sandboxed)
      oracle   inputs and expected values
      buffers  shared memory with guards ─────────→ maps it
      session  "call 5" ──────────────────────────→ runs the submission
               ←────────────────────────── "5 done", fixed size
      compare  a private snapshot of the outputs

Only the judge knows the seeds, the expected values and the guard bytes.
"""
