"""Findings of `ebb doctor`."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report.

    level: "warn" if the subject works, but with reduced speed or safety; "fail" if the server will not start.
    advice: how to fix it; empty if there is nothing to do.
    """

    level: Level
    subject: str
    text: str
    advice: str = ""
