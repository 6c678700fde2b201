"""The trusted side: data, clock and comparison; what a worker says is checked here.

    judge (this process)                            worker (sandboxed)
      oracle   inputs and expected values
      buffers  memory both can see, guarded ──────→ maps it
      session  "call 5" ──────────────────────────→ runs the hand-in
               ←────────────────────────── "5 done", fixed size
      compare  a private snapshot of the outputs

The judge alone knows the seeds, the expected values and the guard bytes.
"""
