"""Conversion of a GGUF file's tokenizer to the hub's files."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Protocol

from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing

from models.errors import ConversionError
from models.gguf_import.byte_level import ByteLevelVocabulary
from models.gguf_import.metadata import Metadata
from models.gguf_import.sentencepiece import SentencePieceVocabulary
from models.gguf_import.tokens import Tokens


class _Kind(Protocol):
    def __init__(self, metadata: Metadata, tokens: Tokens) -> None: ...

    @property
    def adds_bos(self) -> bool:
        """Whether a raw prompt begins with a bos token if the file does not say so."""

    def tokenizer(self) -> Tokenizer:
        """Build the tokenizer, without added tokens around a text. Raise as the library, which has no error types."""


_KINDS: Final[Mapping[str, type[_Kind]]] = MappingProxyType(
    {"gpt2": ByteLevelVocabulary, "llama": SentencePieceVocabulary}
)
"""Kinds of vocabularies by their names in files."""


class Vocabulary:
    """The vocabulary of a file.

    The constructor raises ConversionError for a tokenizer of an unknown kind, and as the constructors of the kinds.
    """

    def __init__(self, metadata: Metadata) -> None:
        name = metadata.text("tokenizer.ggml.model")
        kind = _KINDS.get(name)
        if kind is None:
            raise ConversionError(f"the file has a tokenizer of type {name!r}; supported are {', '.join(_KINDS)}")
        self._tokens = Tokens.read(metadata)
        self._kind = kind(metadata, self._tokens)
        self._add_bos = bool(metadata.get("tokenizer.ggml.add_bos_token", self._kind.adds_bos))
        default, tool_use = (metadata.get(f"tokenizer.chat_template{name}") for name in ("", ".tool_use"))
        self._template = default if tool_use is None else {"default": default, "tool_use": tool_use}

    @property
    def size(self) -> int:
        """Number of tokens."""
        return len(self._tokens.texts)

    def ids(self) -> dict[str, Any]:
        """Return the bos, eos and pad ids that the file has, by their names in config.json. Several ends are a list."""
        ids: dict[str, Any] = {f"{role}_token_id": id_ for role, id_ in self._tokens.roles.items() if role != "unk"}
        ends = self._tokens.ends
        return ids | ({"eos_token_id": list(ends) if len(ends) > 1 else ends[0]} if ends else {})

    def tokenizer(self) -> Tokenizer:
        """Build the tokenizer for tokenizer.json, equal to the one that the file was made from.

        Raise ConversionError if the library rejects it.
        """
        try:
            tokenizer = self._kind.tokenizer()
        except Exception as error:  # The library raises bare Exception.
            raise ConversionError(f"the file's tokenizer cannot be built: {error}") from error
        if self._add_bos and "bos" in self._tokens.roles:
            id_ = self._tokens.roles["bos"]
            bos = self._tokens.texts[id_]
            tokenizer.post_processor = TemplateProcessing(
                single=f"{bos} $A", pair=f"{bos} $A $B", special_tokens=[(bos, id_)]
            )
        return tokenizer

    def config(self) -> dict[str, Any]:
        """Build the contents of tokenizer_config.json, with the chat template verbatim if there is one."""
        config: dict[str, Any] = {f"{role}_token": self._tokens.texts[id_] for role, id_ in self._tokens.roles.items()}
        config |= {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "clean_up_tokenization_spaces": False,
            "add_bos_token": self._add_bos,
        }
        return config if self._template is None else config | {"chat_template": self._template}
