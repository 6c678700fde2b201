#!/usr/bin/env bash
# Grades one hand-in; the last line that is printed is Autolab's result.
set -uo pipefail

# Without a name `--from` would be the grader's own folder.
HANDIN="$(realpath -e "$1")" || { echo "there is no hand-in: handin.zip or handin.tar" >&2; exit 3; }
PYTHON="${GRADE_PYTHON:-/opt/gpu-grade/bin/python}"

cd "$(dirname "$0")" || exit 3
exec "$PYTHON" -m grader ci @NAME@ \
    --from "$HANDIN" \
    --format autolab \
    --output "$PWD/result.txt" \
    --budget @BUDGET@
