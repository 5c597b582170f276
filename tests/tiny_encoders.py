"""Small random encoders of the transformers library, in the folder layout of real ones."""

import json
from pathlib import Path
from string import ascii_lowercase
from typing import Any, Final

import torch
from tokenizers import Tokenizer
from tokenizers.decoders import WordPiece as WordPieceDecoder
from tokenizers.models import WordPiece
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING, MODEL_MAPPING

SPECIAL: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
PIECES: Final = (*SPECIAL, *ascii_lowercase, *(f"##{letter}" for letter in ascii_lowercase), ".", ",", "?", "'")
KINDS: Final = ("bert", "xlm-roberta", "modernbert")


def word_pieces() -> Tokenizer:
    """Make a tokenizer with a token per letter, which frames texts as BERT does."""
    tokenizer = Tokenizer(WordPiece({piece: id_ for id_, piece in enumerate(PIECES)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = Lowercase(), BertPreTokenizer()
    tokenizer.decoder = WordPieceDecoder()
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer


def tiny_encoder(folder: Path, kind: str, *, has_label: bool = False, **changes: Any) -> PreTrainedModel:
    """Write a folder of a random encoder of the `model_type` `kind`, and return its network in float32."""
    config = CONFIG_MAPPING[kind](
        **{
            "vocab_size": len(PIECES),
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 3,
            "num_attention_heads": 2,
            "max_position_embeddings": 512,
            "pad_token_id": 0 if kind == "bert" else 1,
            "local_attention": 32,
            "initializer_range": 0.3,
            "num_labels": 1,
            **changes,
        }
    )
    torch.manual_seed(5)
    made = (MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING if has_label else MODEL_MAPPING)[type(config)](config)
    for name, parameter in made.named_parameters():
        if parameter.dim() == 1:
            # The norms and biases of a new network are ones and zeros, which would hide mistakes.
            torch.nn.init.normal_(parameter, 1.0 if name.endswith("norm.weight") else 0.0, 0.2)
    network: PreTrainedModel = made.float().eval()
    network.save_pretrained(folder)
    word_pieces().save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"sep_token": "[SEP]", "cls_token": "[CLS]"}))
    return network
