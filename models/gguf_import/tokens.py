"""Tokens of a GGUF file: their texts, types and roles."""

from collections.abc import Iterator
from dataclasses import dataclass

import gguf

from models.errors import ConversionError
from models.gguf_import.metadata import Metadata

_ROLES = {"bos": "bos", "eos": "eos", "pad": "padding", "unk": "unknown"}
"""Roles of tokens, by their names at the hub, and their names in the keys of files."""

_ENDS = frozenset(
    {"<|endoftext|>", "<|end_of_text|>", "<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>"}
)
"""Texts of tokens that end an answer. Files often name one end alone, and that of the text instead of the turn."""

_MARKS = frozenset({"<start_of_turn>"})
"""Texts of tokens that are control tokens, like ends, even if a file has another type for them."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens by id.

    types: values of gguf.TokenType.
    roles: ids by role: bos, eos, pad, unk.
    ends: ids that end an answer, that of the role eos first.
    """

    texts: list[str]
    types: list[int]
    roles: dict[str, int]
    ends: tuple[int, ...]

    @classmethod
    def read(cls, metadata: Metadata) -> "Tokens":
        """Read the tokens of a file. Raise ConversionError for lists of unequal length, and for ids beyond them."""
        texts: list[str] = metadata.items("tokenizer.ggml.tokens", str)
        types: list[int] = metadata.items("tokenizer.ggml.token_type", int)
        if len(types) != len(texts):
            raise ConversionError(f"the file has {len(texts)} tokens, but {len(types)} token types")

        def named(key: str) -> int | None:
            id_ = metadata.token_id(f"tokenizer.ggml.{key}_token_id")
            if id_ is not None and id_ >= len(texts):
                raise ConversionError(f"the file has {id_} as its {key} token, but only {len(texts)} tokens")
            return id_

        roles = {role: id_ for role, key in _ROLES.items() if (id_ := named(key)) is not None}
        ends = [roles.get("eos"), named("eot"), named("eom")]
        ends += [id_ for id_, text in enumerate(texts) if text in _ENDS]
        control, marks = int(gguf.TokenType.CONTROL), _ENDS | _MARKS
        types = [control if text in marks else type_ for text, type_ in zip(texts, types, strict=True)]
        # Some vocabularies have an end of documents as their unknown token, which answers never contain.
        unknown = roles.get("unk")
        return cls(texts, types, roles, tuple(dict.fromkeys(id_ for id_ in ends if id_ is not None and id_ != unknown)))

    def of_type(self, *types: gguf.TokenType) -> Iterator[int]:
        """Iterate over the ids of the tokens of `types`, in order."""
        return (id_ for id_, type_ in enumerate(self.types) if type_ in types)
