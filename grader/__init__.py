"""An autograder and assignment framework for GPU-programming courses.

The packages, from the command line down. A module imports only from packages below its own
(`make check` holds this); the way of a submission through them is in docs/architecture.md.

    notebook       `%%grade` in Jupyter, Colab and VS Code
    pytest_plugin  `pytest --grade`: each check and case of a submission as a test
    cli            options, help and exit codes
    commands       what each command does: local, ci, batch, verify, calibrate, profile, release, …
    pool           processes that grade many submissions, one after another
    formats        the report for each reader: terminal, Gradescope, PrairieLearn, GitHub, …
    grading        one submission: plan, build, run the checks, score, report
    languages      how files of a language are built, run, watched and counted; their registry
    checks         what is checked: a folder for each check, their protocol and registry
    judge          the trusted side of a run: oracle, buffers, comparison, the session with a worker
    build          from a source file to something that a worker can run
    submission     what one student handed in
    emulation      CUDA C++, Triton's IR and PTX, run and checked on a CPU
    report         the result: verdicts, evidence, JSON
    sandbox        untrusted programs: start, confine, limit, end
    assignment     the spec: read, validated, and what is generated from it
    gpu            what the driver says about GPUs, and the lock around their use
    system         processes, signals, files and tools of this machine
    worker         programs that run student code, and the executors of launches; the judge imports
                   none of them
    protocol       what judge and worker share: messages, the CUDA driver
    timing         from times to a speedup with an interval, to a tier and its share of points
    text           numbers, safe printing, near misses
    vocabulary     the words that every module shares
    errors         failures that are not the student's
"""

__version__ = "0.1.0"
