"""Saved prompts: texts that a person keeps under a name, to begin messages with."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SavedPrompt:
    """A text under a name. The text may have placeholders, as in `{{city}}`, which clients fill in."""

    id: str
    name: str
    text: str
