"""Description of a model's tokenizer for clients, as vLLM's route /tokenizer_info gives it."""

from typing import Any, Final

from models.tokenizers.text_tokenizer import TextTokenizer
from models.weights.folder import ModelFolder

PATHS: Final = ("vocab_file", "merges_file", "tokenizer_file", "special_tokens_map_file", "name_or_path")
"""Keys of tokenizer_config.json with paths on the machine that wrote the file."""

DEFAULT_CLASS: Final = "PreTrainedTokenizerFast"


def tokenizer_info(folder: ModelFolder, tokenizer: TextTokenizer, template: str | None) -> dict[str, Any]:
    """Return the contents of tokenizer_config.json, with every token as its text, and the chat template in use.

    Tokens that only the model's configuration names, by their ids, are added.

    tokenizer: the folder's tokenizer.
    template: source of the chat template; None if the model has none.
    """
    named = {
        name: tokenizer.describe(ids[:1])
        for name in ("bos_token", "eos_token", "pad_token")
        if (ids := folder.token_ids(f"{name}_id"))
    }
    config = {name: _as_text(value) for name, value in folder.tokenizer_config().items() if name not in PATHS}
    info = {"tokenizer_class": DEFAULT_CLASS, **named, **config}
    info.pop("chat_template", None)
    return info if template is None else {**info, "chat_template": template}


def _as_text(value: Any) -> Any:
    """Replace each description of a token by the token's text."""
    if isinstance(value, dict):
        return value["content"] if "content" in value else {name: _as_text(each) for name, each in value.items()}
    return [_as_text(each) for each in value] if isinstance(value, list) else value
