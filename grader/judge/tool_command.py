"""The command of a tool that runs a worker under observation, such as compute-sanitizer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCommand:
    """The tool's command, to which the worker's is appended, and its environment variables."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
