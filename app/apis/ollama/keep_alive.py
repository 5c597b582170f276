"""`keep_alive` of Ollama's API: how long a model stays in memory after an answer.

Source: https://docs.ollama.com/faq, section on models in memory.
"""

import re
from math import inf
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from app.schemas.parsing import CompatibleRequest, optional

_SECONDS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)")
_DURATION: Final = re.compile(rf"-?(?:{_PART.pattern})+")
MAX_LENGTH: Final = 40
MAX_SECONDS: Final = 10**9

Number = Annotated[float, Field(ge=-MAX_SECONDS, le=MAX_SECONDS)]
Duration = Annotated[str, Field(max_length=MAX_LENGTH)]


def seconds_of(value: float | str) -> float:
    """Return seconds, infinite for a negative value. Raise ValueError for a text that is not a duration."""
    if isinstance(value, str):
        value = _of_text(value)
    return inf if value < 0 else float(value)


def _of_text(text: str) -> float:
    if re.fullmatch(r"-?\d{1,12}", text):
        return float(text)
    if _DURATION.fullmatch(text) is None:
        raise ValueError("must be a number of seconds, or a duration such as 5m or 1h30m")
    total = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
    return -total if text.startswith("-") else total


class KeepAliveFields(CompatibleRequest):
    """The field of every route that needs the model."""

    keep_alive: Annotated[Number | Duration, AfterValidator(seconds_of)] | None = optional(
        "seconds, or a duration such as `5m`, for which one of several models stays in memory after the answer; `0` "
        "unloads it, a negative one keeps it"
    )

    @property
    def only_unloads(self) -> bool:
        """Whether the request asks for nothing but the end of the model in memory."""
        return False
