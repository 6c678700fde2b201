"""Models of GPUs by their names: which ones a spec may name, and which GPU is one of them.

NVML's name of a GPU holds the model's words and others: "NVIDIA H100 80GB HBM3" is an H100,
"NVIDIA GeForce RTX 4070 Ti SUPER" an RTX 4070, an RTX 4070 Ti and an RTX 4070 Ti SUPER.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

# The types whose arithmetic peaks are known; float16 stands for bfloat16 as well.
Arithmetic = Literal["float32", "float16"]
ARCHITECTURE = re.compile(r"sm_[0-9]{2,3}")
_WORD = "[a-z0-9]+"
# By architecture.
_MODELS = {
    "sm_70": "V100, TITAN V",
    "sm_75": "T4, RTX 2060, RTX 2070, RTX 2070 SUPER, RTX 2080, RTX 2080 SUPER, RTX 2080 Ti, "
    "TITAN RTX, Quadro RTX 4000, Quadro RTX 5000, Quadro RTX 6000, Quadro RTX 8000, GTX 1650, "
    "GTX 1660",
    "sm_80": "A100, A100 40GB, A100 80GB, A30",
    "sm_86": "A2, A10, A10G, A16, A40, RTX A2000, RTX A4000, RTX A4500, RTX A5000, RTX A6000, "
    "RTX 3050, RTX 3060, RTX 3060 Ti, RTX 3070, RTX 3070 Ti, RTX 3080, RTX 3080 Ti, RTX 3090, "
    "RTX 3090 Ti",
    "sm_89": "L4, L40, L40S, RTX 4000 Ada, RTX 4500 Ada, RTX 5000 Ada, RTX 6000 Ada, RTX 4050, "
    "RTX 4060, RTX 4060 Ti, RTX 4070, RTX 4070 SUPER, RTX 4070 Ti, RTX 4070 Ti SUPER, RTX 4080, "
    "RTX 4080 SUPER, RTX 4090",
    "sm_90": "H100, H100 NVL, H100 PCIe, H20, H200, H200 NVL, GH200",
    "sm_100": "B100, B200, GB200",
    "sm_103": "B300, GB300",
    "sm_120": "RTX 5050, RTX 5060, RTX 5060 Ti, RTX 5070, RTX 5070 Ti, RTX 5080, RTX 5090, "
    "RTX PRO 4000, RTX PRO 4500, RTX PRO 5000, RTX PRO 6000",
}
MODELS = tuple(name for names in _MODELS.values() for name in names.split(", "))
# What courses have, for readers: models, and families of them.
_COMMON = {
    "sm_75": ("T4", "RTX 20"),
    "sm_80": ("A100",),
    "sm_86": ("A10", "RTX 30"),
    "sm_89": ("L4", "RTX 40"),
    "sm_90": ("H100", "H200"),
    "sm_100": ("B200",),
    "sm_120": ("RTX 50",),
}


def is_model(name: str, model: str) -> bool:
    """True if the GPU that NVML calls `name` is of this model: it has all of the model's words."""
    return _words(model) <= _words(name)


def most_specific(keys: Iterable[str], name: str, architecture: str) -> list[str]:
    """Return the keys (models and architectures) that mean a GPU, the most specific first.

    A model is more specific than an architecture, and a model of more words than one of fewer.
    """
    meant = [key for key in keys if key == architecture or is_model(name, key)]
    return sorted(meant, key=lambda key: (key != architecture, len(_words(key))), reverse=True)


def common(key: str) -> tuple[str, ...]:
    """Return the common models of an architecture, also families of them; else the key itself."""
    return _COMMON.get(key, (key,))


def as_written(name: str) -> str:
    """Return the model that differs only in case, blanks and hyphens ("rtx4090"), else the name."""
    plain = {"".join(re.findall(_WORD, model.lower())): model for model in MODELS}
    return plain.get("".join(re.findall(_WORD, name.lower())), name)


def _words(name: str) -> frozenset[str]:
    return frozenset(re.findall(_WORD, name.lower()))
