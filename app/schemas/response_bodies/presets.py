"""Response bodies of presets."""

from typing import Annotated, Any

from typing_extensions import TypedDict

from app.domain import library as domain
from app.schemas.response_bodies.described_as import DescribedAs
from app.schemas.sampling import ChatParams


class Preset(TypedDict):
    """Settings for chats, under a name.

    model: name of the model that the preset is for; null for any.
    is_default: whether the preset applies to new chats.
    """

    id: str
    name: str
    system_prompt: str | None
    params: Annotated[dict[str, Any], DescribedAs(ChatParams)]
    model: str | None
    is_default: bool


class Presets(TypedDict):
    """The presets of a tenant, by name."""

    data: list[Preset]


def preset_body(preset: domain.Preset) -> Preset:
    """Serialize a preset."""
    return {
        "id": preset.id,
        "name": preset.name,
        "system_prompt": preset.system_prompt,
        "params": preset.params,
        "model": preset.model,
        "is_default": preset.is_default,
    }
