"""Bodies of requests and responses of the library: presets, saved prompts and kept files."""

from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from app.domain import library as domain
from app.domain.bounds import MAX_DOCUMENT_TEXT, MAX_FILE_NAME, MAX_SAVED_PROMPT_LENGTH, MAX_TITLE_LENGTH
from app.schemas.conversations import given_params
from app.schemas.parsing import RequestModel
from app.schemas.response_bodies.described_as import DescribedAs
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

    def preset(self, preset_id: str) -> domain.Preset:
        """Return the preset with these fields."""
        return domain.Preset(
            preset_id, self.name, self.system_prompt, given_params(self.params), self.model, self.is_default
        )


class SavedPromptFields(RequestModel):
    """Body of a request that saves a prompt, or replaces a saved one."""

    examples = ({"name": "Translate", "text": "Translate into {{language}}:"},)

    name: Annotated[str, Field(min_length=1, max_length=MAX_TITLE_LENGTH)]
    text: Annotated[str, Field(min_length=1, max_length=MAX_SAVED_PROMPT_LENGTH)]

    def prompt(self, prompt_id: str) -> domain.SavedPrompt:
        """Return the prompt with these fields."""
        return domain.SavedPrompt(prompt_id, self.name, self.text)


class KeptFileFields(RequestModel):
    """Body of a request that keeps the text of a file."""

    examples = ({"name": "tides.txt", "text": "High water at six."},)

    name: Annotated[str, Field(min_length=1, max_length=MAX_FILE_NAME)]
    text: Annotated[str, Field(min_length=1, max_length=MAX_DOCUMENT_TEXT)]


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


class KeptFile(TypedDict):
    """A kept file without its text.

    characters: length of the text.
    """

    id: str
    name: str
    characters: int
    kept_at: float


class KeptFileText(KeptFile):
    """A kept file."""

    text: str


class KeptFiles(TypedDict):
    """The kept files of a tenant, the newest first."""

    data: list[KeptFile]


def kept_file_body(file: domain.KeptFile) -> KeptFile:
    """Serialize a kept file without its text."""
    return {"id": file.id, "name": file.name, "characters": file.characters, "kept_at": file.kept_at}
