"""What a check of `ebb doctor` has to say."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. warn: works, but less well, or less safely; fail: the server will not start. `advice`:
    what to do."""

    level: Level
    subject: str
    text: str
    advice: str = ""
