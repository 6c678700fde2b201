"""The grading of one submission: plan, build, run the checks, score, report."""
