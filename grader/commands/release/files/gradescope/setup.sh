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
# torch for the processor: a tenth of the size of the one for GPUs, which are not there.
# Alone, as that index has not every tested version of what torch needs: PyPI has, below.
"$VENV/bin/pip" install --no-cache-dir --constraint "$SOURCE/constraints.txt" \
    --no-deps --index-url https://download.pytorch.org/whl/cpu torch
# What the grader needs, not the grader: it runs from its sources.
"$VENV/bin/pip" install --no-cache-dir --constraint "$SOURCE/constraints.txt" \
    --requirement "$SOURCE/requirements.txt"

# Each submission gets a fresh container of this image: what all need is compiled here, once.
cd "$SOURCE"
"$VENV/bin/python" -m grader.build.warm
# For whoever reads the build's log; it fails where nothing could be graded.
"$VENV/bin/python" -m grader doctor
