"""A tool that runs a worker and looks at what it does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCommand:
    """The tool's command, which the worker's own follows, and what it adds to the environment."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
