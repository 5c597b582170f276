"""Chat templates as models are published with them, from two packages that ship them, and what is known of each."""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tokenizers import AddedToken
from transformers import PreTrainedTokenizerFast

from models.chat.format import ChatFormat
from models.tokenizers.tokenizer import Tokenizer
from tests.tiny_tokenizer import CHAT_TEMPLATE, byte_tokenizer

FOLDERS: Final = {
    name: Path(__file__).parents[1] / ".make" / "templates" / name for name in ("trl-1.16.0", "llama-cpp-python-0.3.36")
}
"""Folders of `scripts/get-templates` by the names of the packages, as in the Makefile."""

FILES: Final = {file.stem: file for folder in FOLDERS.values() for file in sorted(folder.glob("*.jinja"))}

OF_PARTS: Final = {f"{name}{kind}" for name in ("idefics3", "llava_next", "smolvlm") for kind in ("", "_training")}
"""Templates that read contents as lists of parts alone."""

_CONTROL: Final = re.compile(
    r"<[|｜][^<>|｜\s'\"{}]+[|｜]>|</?(?:s|think|(?:\w+:)?tool_call|tool_response)>|<(?:start|end)_of_turn>"
    r"|\[/?[A-Z_]{3,}\]|｜DSML｜|\]<\]minimax\[>\["
)
"""Texts that are control tokens in the vocabularies of most models."""


@dataclass(frozen=True)
class Published:
    """A model with a published template, for Ebb and for transformers.

    is_of_parts: the template reads contents as lists of parts alone.
    """

    tokenizer: Tokenizer
    chat: ChatFormat
    theirs: PreTrainedTokenizerFast
    is_of_parts: bool


@cache
def published(name: str) -> Published:
    """Make a tiny model with the template `name`, whose control tokens are those that the template names."""
    source = FILES[name].read_text(encoding="utf-8")
    library = byte_tokenizer(("<s>", "</s>", "<|im_start|>", "<|im_end|>"))
    marks = dict.fromkeys(_CONTROL.findall(source))
    library.add_special_tokens([AddedToken(mark, special=True, normalized=False) for mark in marks])
    is_for_tools = name.endswith("-tool_use")
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "chat_template": {"default": CHAT_TEMPLATE, "tool_use": source} if is_for_tools else source,
    }
    with TemporaryDirectory() as folder:
        path = Path(folder)
        library.save(str(path / "tokenizer.json"))
        (path / "config.json").write_text('{"bos_token_id": 0, "eos_token_id": 1}')
        (path / "tokenizer_config.json").write_text(json.dumps(config))
        tokenizer = Tokenizer.load(path)
        theirs = PreTrainedTokenizerFast.from_pretrained(path)
        return Published(tokenizer, ChatFormat.load(path, tokenizer), theirs, name in OF_PARTS)


def their_prompt(model: Published, turns: list[dict[str, Any]], tools: list[dict[str, Any]] | None) -> list[int] | None:
    """Encode a conversation with transformers; None if the template refuses it."""
    try:
        ids: list[int] = model.theirs.apply_chat_template(
            turns, tools=tools, add_generation_prompt=True, return_dict=False
        )
    except Exception:
        return None
    return ids


_OWN_WORDS: Final = "and describes the tools in its own words"

UNKNOWN_CALLS: Final = {
    "meetkai-functionary-medium-v3.2": f"Ebb cannot leave out the word `all`, with which texts begin, {_OWN_WORDS}",
    "Kimi-K3": f"Ebb cannot tell apart the parts of an answer, {_OWN_WORDS}",
}
"""Templates with calls in a syntax that Ebb does not read, with the reasons."""

DIFFERENT: Final = UNKNOWN_CALLS | dict.fromkeys(
    ("ibm-granite-granite-3.3-2B-Instruct", "lfm2", "lfm2_training", "LFM2-8B-A1B", "LFM2.5-Instruct"),
    "the template loses calls, which Ebb writes",
)
"""Reasons for prompts with tools that differ from those of transformers."""

MOVED: Final = {
    "mistralai-Mistral-Nemo-Instruct-2407": "by design, the system message begins the last question",
    "fireworks-ai-llama-3-firefunction-v2": "the template fails without `functions`, which only its own server has",
}
"""Reasons for messages that do not stand in their places."""

_EVERY_KIND: Final = ("two", "words", "values", "text", "lines", "nothing")

UNREAD: Final[dict[str, dict[str, str]]] = {
    "MiniMax-M3": dict.fromkeys(("words", "values"), "the template leaves out null"),
    "fireworks-ai-llama-3-firefunction-v2": dict.fromkeys(_EVERY_KIND, MOVED["fireworks-ai-llama-3-firefunction-v2"]),
}
"""Reasons for calls that are not read as the template wrote them, by the kind of their arguments."""
