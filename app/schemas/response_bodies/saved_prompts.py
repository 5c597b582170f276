"""Response bodies of saved prompts."""

from typing_extensions import TypedDict

from app.domain import library as domain


class SavedPrompt(TypedDict):
    """A text under a name."""

    id: str
    name: str
    text: str


class SavedPrompts(TypedDict):
    """The saved prompts of a tenant, by name."""

    data: list[SavedPrompt]


def saved_prompt_body(prompt: domain.SavedPrompt) -> SavedPrompt:
    """Serialize a saved prompt."""
    return {"id": prompt.id, "name": prompt.name, "text": prompt.text}
