"""The command of a tool that runs a worker under observation, such as compute-sanitizer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCommand:
    """The tool's command, to which the worker's is appended."""

    command: tuple[str, ...]
