"""`grade release`: archives for students and for the platforms of courses.

    student        stubs, visible cases, handouts, the grader          (no hidden case)
    github         the same, with a workflow for each push             (no hidden case)
    gradescope     setup.sh, run_autograder, the grader, all cases     (no reference)
    prairielearn   a question, its external grader, a Dockerfile       (no reference)
    autolab        autograde-Makefile and autograde.tar, a Dockerfile  (no reference)

No archive contains `reference/`. The same course gives the same bytes.
"""
