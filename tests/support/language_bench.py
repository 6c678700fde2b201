"""A small SiLU with a file in every language that ships, whose memory accesses are checked."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from grading_bench import small_silu

from grader.vocabulary import Language

FILES = {
    Language.CUDA: "silu.cu",
    Language.TRITON: "silu.py",
    Language.INLINE_CUDA: "silu_inline.py",
    Language.NUMBA: "silu_numba.py",
}
NEEDS_NUMBA = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("numba", "numba_cuda")),
    reason="the extra `numba` is not installed",
)
_INLINE = '''\
import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
{text}"""

module = load_inline(name="silu", cpp_sources="", cuda_sources=CUDA, functions=["silu"])
'''


def checked_silu(root: Path, *, on_gpu: bool = False) -> Path:
    """Make the assignment in `root`; return its folder."""
    folder = small_silu(root, on_gpu=on_gpu)
    spec = folder / "assignment.toml"
    text = spec.read_text(encoding="utf-8")
    files = ", ".join(f'{language} = "{file}"' for language, file in FILES.items())
    for old, new in (
        ('cuda = "silu.cu", triton = "silu.py"', files),
        ("correctness = 100", "correctness = 80, memory = 20"),
        ("[[cases]]\n", "[[cases]]\nmemory = true\n"),
    ):
        assert old in text
        text = text.replace(old, new, 1)
    spec.write_text(text, encoding="utf-8")
    return folder


def inlined(text: str) -> str:
    """Return a Python file that gives CUDA source to `load_inline`; lines move by four."""
    return _INLINE.format(text=text)
