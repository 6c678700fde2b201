#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the image of "@TITLE@".
set -euo pipefail

SOURCE="${GRADE_ROOT:-}/autograder/source"
VENV=/opt/gpu-grade

export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends python3 python3-venv g++
rm -rf /var/lib/apt/lists/*

python3 -m venv "$VENV"
# torch for the processor: a tenth of the size of the one for GPUs, which are not there.
"$VENV/bin/pip" install --no-cache-dir --constraint "$SOURCE/constraints.txt" \
    --index-url https://download.pytorch.org/whl/cpu torch
# What the grader needs, not the grader: it runs from its sources.
"$VENV/bin/python" - "$SOURCE/pyproject.toml" >/tmp/requirements.txt <<'PYTHON'
import sys
try:
    import tomllib
except ImportError:
    from pip._vendor import tomli as tomllib
with open(sys.argv[1], "rb") as file:
    print("\n".join(tomllib.load(file)["project"]["dependencies"]))
PYTHON
"$VENV/bin/pip" install --no-cache-dir --constraint "$SOURCE/constraints.txt" \
    --requirement /tmp/requirements.txt
