#!/usr/bin/env bash
# Grades one submission; the last line of the output is Autolab's result.
set -uo pipefail

# Stop if there is no file: an empty `--from` would be the grader's own folder.
HANDIN="$(realpath -e "$1")" || { echo "there is no submission: handin.zip or handin.tar" >&2; exit 3; }
PYTHON="${GRADE_PYTHON:-/opt/gpu-grade/bin/python}"

cd "$(dirname "$0")" || exit 3
# Tango's autodriver leaves HOME as it is for another user, where this one may not write.
export GRADE_CACHE_DIR="${GRADE_CACHE_DIR:-$PWD/cache}"
exec "$PYTHON" -m grader ci @NAME@ \
    --from "$HANDIN" \
    --format autolab \
    --output "$PWD/result.txt" \
    --budget @BUDGET@@SHOW@
