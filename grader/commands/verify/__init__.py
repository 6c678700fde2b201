"""`grade verify`: proves that assignments work.

    run, plan              the command; its tasks, and the rows that need no task
    tasks                  the tasks, and the worker pool that does them
    samples, judgement     the expectations of sample submissions, compared with reports
    oracle_cases           all cases of an assignment with their data, for:
      oracle_proofs        properties of the oracle
      mutants              wrong results, which the comparison must refuse
    agreement, lints       consistency of files; weak or missing parts of a spec
    row, table             a row of the result; the printed result

`docs/verify.md` says what is proven and what is not.
"""
