"""Random models as their families publish them: the kind of vocabulary, the control tokens and the chat template."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from tokenizers import AddedToken, Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import BPE

from tests import family_templates as templates
from tests import mistral_templates
from tests.family_models import FAMILIES, SHAPE, save_random
from tests.tiny_tokenizer import byte_tokenizer

SPACE: Final = "▁"
POSITIONS: Final = 2048


@dataclass(frozen=True, slots=True)
class FamilyFolder:
    """A model folder, and the texts by which its family calls a tool and reads the result.

    model: name in `tests.family_models.FAMILIES`.
    vocabulary: bytes, or characters with a byte for each other one, in the form of Gemma's or Mistral's files.
    control: control tokens in the order of their ids.
    ends: control tokens that end an answer, the first one after a call.
    bos: token that begins texts.
    words: tokens with a text that are no control tokens.
    template: chat template.
    call: an answer that calls one function, without its end. %NAME%, %ARGUMENTS% and %ID% stand for those parts.
    result: prompt after the call, from its end to the next answer. %RESULT% and %ID% stand for those parts.
    reasoning: mark that begins reasoning; empty if there is none.
    """

    model: str
    vocabulary: Literal["bytes", "gemma", "mistral"]
    control: tuple[str, ...]
    ends: tuple[str, ...]
    bos: str
    template: str
    call: str
    result: str
    words: tuple[str, ...] = ()
    reasoning: str = ""

    def tokenizer(self) -> Tokenizer:
        """Make the tokenizer. A token has one character of a text, except for control tokens and words."""
        if self.vocabulary == "bytes":
            tokenizer = byte_tokenizer(self.control)
        else:
            tokenizer = _character_tokenizer(self.control, adds_space=self.vocabulary == "mistral")
        tokenizer.add_tokens([AddedToken(word, special=False, normalized=False) for word in self.words])
        if self.bos not in self.ends:
            tokenizer.post_processor = processors.TemplateProcessing(
                single=f"{self.bos} $A", special_tokens=[(self.bos, tokenizer.token_to_id(self.bos))]
            )
        return tokenizer

    def read_call(self, text: str) -> re.Match[str] | None:
        """Match an answer of one call, with or without its end. Groups: name, arguments, and id if calls have one."""
        pattern = re.escape(self.call).replace("%NAME%", r"(?P<name>\w+)").replace("%ID%", r"(?P<id>[a-zA-Z0-9]{9})")
        pattern = pattern.replace("%ARGUMENTS%", r"(?P<arguments>\{.*\})")
        return re.fullmatch(f"{pattern}(?:{re.escape(self.ends[0])})?", text, re.DOTALL)


def save_family_folder(folder: Path, family: FamilyFolder) -> Path:
    """Write a random float32 model with its tokenizer and template, and return `folder`."""
    tokenizer = family.tokenizer()
    kind, changes = FAMILIES[family.model]
    ends = [tokenizer.token_to_id(end) for end in family.ends]
    ids = {"bos_token_id": tokenizer.token_to_id(family.bos), "eos_token_id": ends[0], "pad_token_id": ends[0]}
    sizes = {"vocab_size": tokenizer.get_vocab_size(), "max_position_embeddings": POSITIONS}
    save_random(folder, kind, SHAPE | changes | ids | sizes)
    tokenizer.save(str(folder / "tokenizer.json"))
    _write(folder / "generation_config.json", ids | {"eos_token_id": ends})
    texts = {"bos_token": family.bos, "eos_token": family.ends[0], "pad_token": family.ends[0]}
    shared = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
    _write(folder / "tokenizer_config.json", shared | texts | {"chat_template": family.template})
    return folder


def _character_tokenizer(control: tuple[str, ...], *, adds_space: bool) -> Tokenizer:
    """Make a tokenizer in the form of a converted SentencePiece model, with the printable characters of ASCII.

    adds_space: a text at the beginning gets a space, which decoding removes.
    """
    pieces = [*control, *(f"<0x{byte:02X}>" for byte in range(256)), SPACE, *map(chr, range(0x21, 0x7F))]
    vocab = {piece: id_ for id_, piece in enumerate(pieces)}
    tokenizer = Tokenizer(BPE(vocab=vocab, merges=[], unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    parts = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    if adds_space:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="first", split=False)
        parts.append(decoders.Strip(" ", 1, 0))
    else:
        tokenizer.normalizer = normalizers.Replace(" ", SPACE)
        tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence(parts)
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in control])
    return tokenizer


def _write(file: Path, value: Mapping[str, object]) -> None:
    file.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


_HERMES_CALL: Final = '<tool_call>\n{"name":"%NAME%","arguments":%ARGUMENTS%}\n</tool_call>'
_LIST_CALL: Final = '[{"name": "%NAME%", "arguments": %ARGUMENTS%}]'
_MISTRAL_CONTROL: Final = (
    *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
    *("[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"),
)

FOLDERS: Final[Mapping[str, FamilyFolder]] = {
    "qwen3": FamilyFolder(
        model="qwen3",
        vocabulary="bytes",
        control=("<|endoftext|>", "<|im_start|>", "<|im_end|>"),
        words=("<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"),
        ends=("<|im_end|>", "<|endoftext|>"),
        bos="<|endoftext|>",
        template=templates.QWEN3,
        call=_HERMES_CALL,
        result="<|im_end|>\n<|im_start|>user\n<tool_response>\n%RESULT%\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n",
        reasoning="<think>",
    ),
    "gemma3": FamilyFolder(
        model="gemma3",
        vocabulary="gemma",
        control=("<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>"),
        ends=("<end_of_turn>", "<eos>"),
        bos="<bos>",
        template=templates.GEMMA3,
        call=_HERMES_CALL,
        result="<end_of_turn>\n<start_of_turn>user\n<tool_response>\n%RESULT%\n</tool_response><end_of_turn>\n"
        "<start_of_turn>model\n",
    ),
    "mistral": FamilyFolder(
        model="mistral, window",
        vocabulary="mistral",
        control=_MISTRAL_CONTROL,
        ends=("</s>",),
        bos="<s>",
        template=mistral_templates.MISTRAL3,
        call='[TOOL_CALLS][{"name": "%NAME%", "arguments": %ARGUMENTS%, "id": "%ID%"}]',
        result='</s>[TOOL_RESULTS]{"content": %RESULT%, "call_id": "%ID%"}[/TOOL_RESULTS]',
    ),
    "ministral3": FamilyFolder(
        model="ministral3",
        vocabulary="bytes",
        control=(*_MISTRAL_CONTROL, "[ARGS]", "[CALL_ID]", "[TOOL_CONTENT]"),
        ends=("</s>",),
        bos="<s>",
        template=mistral_templates.MISTRAL13,
        call="[TOOL_CALLS]%NAME%[ARGS]%ARGUMENTS%",
        result="</s>[TOOL_RESULTS]%RESULT%[/TOOL_RESULTS]",
    ),
    "llama3": FamilyFolder(
        model="llama 3",
        vocabulary="bytes",
        control=(
            *("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>"),
            *("<|eom_id|>", "<|eot_id|>", "<|python_tag|>"),
        ),
        ends=("<|eot_id|>", "<|eom_id|>", "<|end_of_text|>"),
        bos="<|begin_of_text|>",
        template=templates.LLAMA3,
        call='{"name": "%NAME%", "parameters": %ARGUMENTS%}',
        result='<|eot_id|><|start_header_id|>ipython<|end_header_id|>\n\n"%RESULT%"<|eot_id|>'
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
    ),
    "phi4": FamilyFolder(
        model="phi3, part",
        vocabulary="bytes",
        control=("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|im_sep|>"),
        ends=("<|im_end|>", "<|endoftext|>"),
        bos="<|endoftext|>",
        template=templates.PHI4,
        call=_HERMES_CALL,
        result="<|im_end|><|im_start|>user<|im_sep|><tool_response>\n%RESULT%\n</tool_response><|im_end|>"
        "<|im_start|>assistant<|im_sep|>",
    ),
    "phi4-mini": FamilyFolder(
        model="phi3",
        vocabulary="bytes",
        control=(
            *("<|endoftext|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>", "<|tool|>", "<|/tool|>"),
            *("<|tool_call|>", "<|/tool_call|>", "<|tool_response|>"),
        ),
        ends=("<|end|>", "<|endoftext|>"),
        bos="<|endoftext|>",
        template=templates.PHI4_MINI,
        call=f"<|tool_call|>{_LIST_CALL}<|/tool_call|>",
        result="<|end|><|tool|>%RESULT%<|end|><|assistant|>",
    ),
    "granite": FamilyFolder(
        model="granite",
        vocabulary="bytes",
        control=("<|end_of_text|>", "<|start_of_role|>", "<|end_of_role|>", "<|tool_call|>"),
        ends=("<|end_of_text|>",),
        bos="<|end_of_text|>",
        template=templates.GRANITE3,
        call=f"<|tool_call|>{_LIST_CALL}",
        result="<|end_of_text|>\n<|start_of_role|>tool<|end_of_role|>%RESULT%<|end_of_text|>\n"
        "<|start_of_role|>assistant<|end_of_role|>",
    ),
}
"""Folders by name, one for each family that many people run."""
