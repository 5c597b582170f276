"""The chat templates in a model folder, found where transformers finds them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from models.errors import ChatFormatError
from models.weights.folder import ModelFolder

TOOL_USE: Final = "additional_chat_templates/tool_use.jinja"
_DEFAULT: Final = "chat_template.jinja"


@dataclass(frozen=True, slots=True)
class TemplateSources:
    """Jinja sources of a model's chat templates; None where there is none.

    default: the template of conversations without tools.
    tool_use: the template of conversations with tools. Most models have one template for both.
    """

    default: str | None = None
    tool_use: str | None = None


def read_templates(folder: ModelFolder) -> TemplateSources:
    """Read the templates of the folder: from separate files, else from tokenizer_config.json or chat_template.json.

    Raise ChatFormatError if a file is not a text, and ModelNotFoundError if a JSON file cannot be read.
    """
    files = {name: _text_of(folder.path / file) for name, file in (("default", _DEFAULT), ("tool_use", TOOL_USE))}
    for value in (files, folder.tokenizer_config().get("chat_template"), folder.processor_template()):
        named = _named(value)
        if named:
            default = named.get("default")
            return TemplateSources(default, named.get("tool_use", default))
    return TemplateSources()


def _named(value: Any) -> Mapping[str, str]:
    """Return templates by name: from one text, which is the default, from a mapping, or from a list of entries."""
    if isinstance(value, list):
        value = {entry.get("name"): entry.get("template") for entry in value if isinstance(entry, dict)}
    elif not isinstance(value, dict):
        value = {"default": value}
    return {name: source for name, source in value.items() if isinstance(source, str)}


def _text_of(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ChatFormatError(f"{file} cannot be read: {error}") from error
