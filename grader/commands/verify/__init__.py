"""`grade verify`: assignments that prove themselves.

    run, plan              the command; which tasks it has, and the rows known without a task
    tasks                  the pieces of work, and the worker pool that does them
    samples, judgement     what sample submissions promise, and reports held to it
    trivial_submissions    submissions that do no work, which must earn nothing
    oracle_cases           all cases of an assignment with their data, for:
      oracle_proofs        the oracle's own promises
      mutants              wrong results, which the comparison must refuse
    agreement, lints       files that follow from each other; weak or missing things in a spec
    row, table             a row of the result; the result as an instructor reads it

`docs/verify.md` says what is proven and what is not.
"""
