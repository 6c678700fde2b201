"""`grade verify`: assignments that prove themselves.

    expectation, samples   what the sample hand-ins promise (standard library only)
    judgement, worthless   stub, reference, junk and samples: graded, and held to it
    oracle_proofs, junk    the oracle's own promises; junk before the real comparison
    lints, agreement       the spec, the files that belong together
    tasks, hands           the same as pieces of work, and what does them
    pool, worker           a few processes that live long
    plan, run, table       the command; what an instructor reads

`docs/verify.md` says what is proven and what is not.
"""
