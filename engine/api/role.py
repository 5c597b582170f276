"""Parts of the answers that one engine of several computes."""

from typing import Literal

Role = Literal["both", "prefill", "decode"]
"""prefill: computes prompts, and hands their answers over after the first token. decode: continues such answers."""
