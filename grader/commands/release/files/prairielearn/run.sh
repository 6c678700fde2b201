#!/usr/bin/env bash
# PrairieLearn runs this in the container for each submission, and reads the result only if the
# exit code is 0.
set -uo pipefail

GRADE="${GRADE_ROOT:-}/grade"
PYTHON="${GRADE_PYTHON:-/opt/gpu-grade/bin/python}"

mkdir -p "$GRADE/results"
cd "$GRADE/serverFilesCourse/gpu-grade" || exit 3
exec "$PYTHON" -m grader ci @NAME@ \
    --from "$GRADE/student" \
    --format prairielearn \
    --output "$GRADE/results/results.json" \
    --budget @BUDGET@@SHOW@
