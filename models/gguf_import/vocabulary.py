"""The tokenizer of a GGUF file, as tokenizer.json and tokenizer_config.json."""

from typing import Any

import gguf
from tokenizers import AddedToken, Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, Digits, PreTokenizer, Sequence
from tokenizers.processors import TemplateProcessing

from models.errors import ConversionError
from models.gguf_import.metadata import Metadata


def build_tokenizer(metadata: Metadata) -> Tokenizer:
    """A byte-level BPE tokenizer, equal to the one that the file was made from.

    Raises ConversionError for a tokenizer of another kind, or one whose way of splitting texts is not known here:
    a wrong split gives plausible but wrong ids.
    """
    kind = metadata.text("tokenizer.ggml.model")
    if kind != "gpt2":
        raise ConversionError(f"the file has a tokenizer of kind {kind!r}; only byte-level BPE (gpt2) is read")
    tokens: list[str] = metadata.items("tokenizer.ggml.tokens", str)
    types: list[int] = metadata.items("tokenizer.ggml.token_type", int)
    merges = [tuple(merge.split(" ", 1)) for merge in metadata.items("tokenizer.ggml.merges", str)]
    vocabulary = {token: index for index, token in enumerate(tokens)}
    tokenizer = Tokenizer(BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = _splitter(metadata.text("tokenizer.ggml.pre"))
    tokenizer.decoder = ByteLevelDecoder()
    control = [token for token, type_ in zip(tokens, types, strict=True) if type_ == gguf.TokenType.CONTROL]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in control])
    bos = metadata.token_id("tokenizer.ggml.bos_token_id")
    if metadata.get("tokenizer.ggml.add_bos_token", False) and bos is not None:
        tokenizer.post_processor = TemplateProcessing(
            single=f"{tokens[bos]} $A", pair=f"{tokens[bos]} $A $B", special_tokens=[(tokens[bos], bos)]
        )
    return tokenizer


def token_ids(metadata: Metadata) -> dict[str, int]:
    """bos, eos and pad as config.json and generation_config.json name them, where the file has them."""
    keys = {"bos_token_id": "bos_token_id", "eos_token_id": "eos_token_id", "pad_token_id": "padding_token_id"}
    found = {name: metadata.token_id(f"tokenizer.ggml.{key}") for name, key in keys.items()}
    return {name: id_ for name, id_ in found.items() if id_ is not None}


def tokenizer_config(metadata: Metadata) -> dict[str, Any]:
    """The value of tokenizer_config.json, with the chat template verbatim where there is one."""
    tokens = metadata.items("tokenizer.ggml.tokens", str)
    names = {"bos_token": "bos", "eos_token": "eos", "pad_token": "padding", "unk_token": "unknown"}
    ids = {name: metadata.token_id(f"tokenizer.ggml.{key}_token_id") for name, key in names.items()}
    config = {name: tokens[id_] for name, id_ in ids.items() if id_ is not None}
    template = metadata.get("tokenizer.chat_template")
    return (
        config
        | {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "clean_up_tokenization_spaces": False,
            "add_bos_token": bool(metadata.get("tokenizer.ggml.add_bos_token", False)),
            "model_max_length": metadata.whole("llama.context_length"),
        }
        | ({} if template is None else {"chat_template": template})
    )


def _splitter(name: str) -> PreTokenizer:
    byte_level = ByteLevel(add_prefix_space=False, use_regex=True)
    if name == "smollm":
        return Sequence([Digits(individual_digits=True), byte_level])
    if name == "gpt-2":
        return byte_level
    raise ConversionError(f"the file splits texts in the way {name!r}, which is not known; use the model's folder")
