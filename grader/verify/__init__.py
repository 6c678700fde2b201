"""`grade verify`: assignments that prove themselves.

    expectation, samples   what the sample hand-ins promise (standard library only)
    gradings, judgement    stub, reference, junk and samples: graded, and held to it
    oracle_proofs, junk    the oracle's own promises; junk before the real comparison
    lints, agreement       the spec, the files that belong together
    tasks, pool, worker    all of it as tasks, in a few processes that live long
    run, table             the command; what an instructor reads

`docs/verify.md` says what is proven and what is not.
"""
