"""What a late submission loses: a share of its points for each period that has begun."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class LateRule:
    """The table `late` of a spec.

    After `grace_h` hours, each begun period of `period_h` hours costs the share `lose` of the
    points, together at most the share `most`.
    """

    period_h: float
    lose: float
    grace_h: float = 0.0
    most: float = 1.0

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> LateRule:
        """Return the rule of a validated table."""
        return cls(**{key: float(value) for key, value in data.items()})

    @property
    def periods(self) -> str:
        """`each 24 hours that have begun after a grace of 1 hour`."""
        each = "hour that has" if self.period_h == 1 else f"{_hours(self.period_h)} that have"
        grace = f" after a grace of {_hours(self.grace_h)}" if self.grace_h else ""
        return f"each {each} begun{grace}"

    def share_lost(self, late: timedelta) -> float:
        """Return the share of the points that a submission loses, 0 to 1."""
        after_h = late.total_seconds() / 3600 - self.grace_h
        if after_h <= 0:
            return 0.0
        return min(self.most, self.lose * math.ceil(after_h / self.period_h))


def _hours(number: float) -> str:
    return f"{number:g} {'hour' if number == 1 else 'hours'}"
