"""Request body of saved prompts."""

from typing import Annotated

from pydantic import Field

from app.domain.bounds import MAX_SAVED_PROMPT_LENGTH, MAX_TITLE_LENGTH
from app.domain.library import SavedPrompt
from app.schemas.parsing import RequestModel


class SavedPromptFields(RequestModel):
    """Body of a request that saves a prompt, or replaces a saved one."""

    examples = ({"name": "Translate", "text": "Translate into {{language}}:"},)

    name: Annotated[str, Field(min_length=1, max_length=MAX_TITLE_LENGTH)]
    text: Annotated[str, Field(min_length=1, max_length=MAX_SAVED_PROMPT_LENGTH)]

    def prompt(self, prompt_id: str) -> SavedPrompt:
        """Return the prompt with these fields."""
        return SavedPrompt(prompt_id, self.name, self.text)
