#!/usr/bin/env bash
# Grades one hand-in; the last line that is printed is Autolab's result.
set -uo pipefail

HANDIN="$(realpath "$1")"
PYTHON="${GRADE_PYTHON:-/opt/gpu-grade/bin/python}"

cd "$(dirname "$0")" || exit 3
exec "$PYTHON" -m grader ci @NAME@ \
    --from "$HANDIN" \
    --format autolab \
    --output "$PWD/result.txt" \
    --budget @BUDGET@
