"""Request body of presets."""

from typing import Annotated

from pydantic import Field

from app.domain.bounds import MAX_TITLE_LENGTH
from app.domain.library import Preset
from app.schemas.conversations import given_params
from app.schemas.parsing import RequestModel
from app.schemas.sampling import ChatParams


class PresetFields(RequestModel):
    """Body of a request that creates or replaces a preset.

    is_default: whether the preset applies to new chats, in place of the former default.
    """

    examples = ({"name": "Calm", "params": {"temperature": 0.2}}, {"name": "Brief", "system_prompt": "Be brief."})

    name: Annotated[str, Field(min_length=1, max_length=MAX_TITLE_LENGTH)]
    system_prompt: str | None = None
    params: ChatParams | None = None
    model: Annotated[str, Field(max_length=MAX_TITLE_LENGTH)] | None = None
    is_default: bool = False

    def preset(self, preset_id: str) -> Preset:
        """Return the preset with these fields."""
        return Preset(preset_id, self.name, self.system_prompt, given_params(self.params), self.model, self.is_default)
