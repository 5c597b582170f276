"""Parameters of `ebb profile`."""

from dataclasses import dataclass
from pathlib import Path

from app.config.options import Option, any_path, integer


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilePlan:
    """The synthetic load, and where its trace is written.

    streams: number of concurrent conversations.
    prompt_tokens: new tokens in each turn, after the previous turns.
    output_tokens: tokens in each answer.
    steps: forward passes to record.
    """

    streams: int = 8
    prompt_tokens: int = 256
    output_tokens: int = 64
    steps: int = 200
    output: Path = Path("ebb-profile.json")


PROFILE_OPTIONS = (
    Option("streams", integer(1, 4096), "N", "number of concurrent conversations (default 8)"),
    Option("prompt-tokens", integer(1, 1 << 20), "N", "new tokens of each turn (default 256)"),
    Option("output-tokens", integer(1, 1 << 20), "N", "tokens of each answer (default 64)"),
    Option("steps", integer(1, 1_000_000), "N", "forward passes to record (default 200)"),
    Option("output", any_path, "FILE", "file for the trace (default ./ebb-profile.json)"),
)
