#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the image of "@TITLE@".
set -euo pipefail

ROOT="${GRADE_ROOT:-}"
SOURCE="$ROOT/autograder/source"
VENV="$ROOT/opt/gpu-grade"

export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends python3 python3-venv g++
rm -rf "$ROOT"/var/lib/apt/lists/*

python3 -m venv "$VENV"
# torch for the CPU: a tenth of the size of the build for GPUs. Without dependencies, because its
# index lacks tested versions of them; the next step installs them from PyPI.
"$VENV/bin/pip" install --no-cache-dir --constraint "$SOURCE/constraints.txt" \
    --no-deps --index-url https://download.pytorch.org/whl/cpu torch
# Only the grader's dependencies: the grader runs from its sources.
"$VENV/bin/pip" install --no-cache-dir --constraint "$SOURCE/constraints.txt" \
    --requirement "$SOURCE/requirements.txt"

# Each submission gets a fresh container of this image: compile here, once, what all of them need.
cd "$SOURCE"
"$VENV/bin/python" -m grader.build.warm
# Show the result in the build's log; fails if nothing can be graded.
"$VENV/bin/python" -m grader doctor
