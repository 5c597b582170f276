"""SentencePiece vocabularies of GGUF files: the ids and texts of SentencePiece itself, and of transformers."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import gguf
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AddedToken, GemmaTokenizer, LlamaTokenizer
from transformers.tokenization_utils_base import generate_merges

from engine.text.detokenizer import Detokenizer
from models.chat.format import ChatFormat, Message
from models.errors import ConversionError
from models.gguf_import.convert import convert_gguf
from models.tokenizers.tokenizer import Tokenizer
from tests.tiny_gguf import write_tiny_gguf
from tests.tiny_sentencepiece import CORPUS, MARKS, RUNS, TinyPieces, gemma_pieces, llama_pieces

GEMMA_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<start_of_turn>"
    "{{ 'model' if message['role'] == 'assistant' else message['role'] }}\n"
    "{{ message['content'] | trim }}<end_of_turn>\n{% endfor %}"
    "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)
CHUNKS = (
    *CORPUS,
    " ",
    "  ",
    "      ",
    "\n",
    "\n\n\n",
    "\t",
    "▁",
    "▁▁",
    "<0x41>",
    "<",
    "s>",
    "\x00",
    "e\u0301",
    "\u200d",
    "🙂",
)
HOSTILE = st.lists(st.one_of(st.sampled_from(CHUNKS), st.text(max_size=4)), max_size=8).map("".join)
PLAIN = HOSTILE.map(lambda text: re.sub(r"<(?=/?[a-z|])|\[(?=/?[A-Z])", "(", text.replace("▁", "_")))
"""Texts without control tokens, and without the character that stands for a space in pieces."""


def load(folder: Path, pieces: TinyPieces, architecture: str = "llama", **changed: Any) -> Tokenizer:
    file = write_tiny_gguf(folder / "tiny.gguf", architecture=architecture, pieces=pieces, tensors={}, changed=changed)
    (folder / "model").mkdir()
    convert_gguf(file, folder / "model", lambda line: None, keep_blocks=True)
    return Tokenizer.load(folder / "model")


@pytest.fixture(scope="module", params=["llama", "gemma"])
def pieces(request: pytest.FixtureRequest) -> TinyPieces:
    return llama_pieces() if request.param == "llama" else gemma_pieces()


@pytest.fixture(scope="module")
def original(pieces: TinyPieces) -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_proto=pieces.model)


@pytest.fixture(scope="module")
def tokenizer(pieces: TinyPieces, tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return load(tmp_path_factory.mktemp("vocabulary"), pieces)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(text=PLAIN)
def test_ids_and_text_are_those_of_sentencepiece(
    tokenizer: Tokenizer, original: sentencepiece.SentencePieceProcessor, text: str
) -> None:
    ids = tokenizer.encode(text, special=False)
    assert ids == original.encode(text)
    assert tokenizer.decode(ids) == text
    stream = Detokenizer(tokenizer.token_bytes, drops_first_space=tokenizer.drops_first_space)
    assert "".join(map(stream.push, ids)) == text


@settings(derandomize=True, deadline=None, max_examples=100)
@given(spans=st.lists(PLAIN, min_size=1, max_size=4), data=st.data())
def test_control_tokens_split_texts_on_request_only(
    tokenizer: Tokenizer, original: sentencepiece.SentencePieceProcessor, spans: list[str], data: st.DataObject
) -> None:
    marks = [data.draw(st.sampled_from(sorted(tokenizer.control_tokens))) for _ in spans[1:]]
    text = spans[0] + "".join(mark + span for mark, span in zip(marks, spans[1:], strict=True))
    expected = original.encode(spans[0])
    for mark, span in zip(marks, spans[1:], strict=True):
        expected += [tokenizer.control_tokens[mark], *original.encode(span)]
    assert tokenizer.encode(text, special=True) == expected
    plain = tokenizer.encode(text, special=False)
    assert tokenizer.decode(plain) == text
    assert not set(plain) & set(tokenizer.control_tokens.values())


def transformers_tokenizer(name: str, model: bytes) -> Any:
    """Convert a model as transformers does, except that the library's protobuf classes do not run here."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    numbers = range(processor.get_piece_size())
    vocabulary = {processor.id_to_piece(id_): id_ for id_ in numbers}
    merges = generate_merges(vocabulary, {processor.id_to_piece(id_): processor.get_score(id_) for id_ in numbers})
    classes: dict[str, Any] = {"llama": LlamaTokenizer, "gemma": GemmaTokenizer}
    tokenizer = classes[name](vocab=vocabulary, merges=merges)
    tokenizer.add_tokens(
        [AddedToken(text, normalized=False) for text in RUNS if text in vocabulary and name == "gemma"]
    )
    return tokenizer


@pytest.mark.parametrize("name", ["llama", "gemma"])
def test_ids_and_text_are_those_of_transformers(tmp_path: Path, name: str) -> None:
    pieces = llama_pieces() if name == "llama" else gemma_pieces()
    theirs, ours = transformers_tokenizer(name, pieces.model), load(tmp_path, pieces)

    # Without a space first, which LlamaTokenizer takes for the space that it would add.
    @settings(derandomize=True, deadline=None, max_examples=100)
    @given(text=HOSTILE.map("x{}".format))
    def compare(text: str) -> None:
        ids = theirs.encode(text)
        assert ours.encode(text, special=True) == ids
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True)

    compare()


@pytest.mark.parametrize("kind", [gguf.TokenType.CONTROL, gguf.TokenType.USER_DEFINED, gguf.TokenType.NORMAL])
def test_turns_of_gemma_are_control_tokens_and_end_answers(tmp_path: Path, kind: gguf.TokenType) -> None:
    pieces = gemma_pieces()
    start, end = (pieces.tokens.index(mark) for mark in MARKS)
    pieces.types[start] = pieces.types[end] = int(kind)
    tokenizer = load(tmp_path, pieces, "gemma3", **{"tokenizer.chat_template": GEMMA_TEMPLATE})
    assert tokenizer.eos_token_ids == (1, end)
    prompt = ChatFormat.load(tmp_path / "model", tokenizer).render([Message("user", "The <end_of_turn> fox")])
    assert (prompt[0], prompt.count(start), prompt.count(end)) == (2, 2, 1)
    assert tokenizer.describe(prompt) == (
        "<bos><start_of_turn>user\nThe <end_of_turn> fox<end_of_turn>\n<start_of_turn>model\n"
    )


def added(pieces: TinyPieces, *texts: str, kind: gguf.TokenType = gguf.TokenType.CONTROL) -> TinyPieces:
    count = len(texts)
    return replace(
        pieces,
        tokens=[*pieces.tokens, *texts],
        scores=[*pieces.scores, *[-1000.0] * count],
        types=[*pieces.types, *[int(kind)] * count],
    )


def test_tokens_of_phi3_drop_white_space_after_them(tmp_path: Path) -> None:
    tokenizer = load(tmp_path, added(llama_pieces(), "<|user|>", "<|end|>"), "phi3")
    assert tokenizer.eos_token_ids == (2, 501)
    fox = tokenizer.encode("fox", special=True)
    assert tokenizer.encode("<|user|>\n  fox<|end|>\n<s> fox", special=True) == [
        *(500, *fox, 501, 1),
        *tokenizer.encode(" fox", special=True),
    ]


def test_marks_of_mistral_have_no_space_after_them(tmp_path: Path) -> None:
    tokenizer = load(tmp_path, added(llama_pieces(), "[INST]", "[/INST]"))
    fox = tokenizer.encode("fox", special=True)
    assert tokenizer.encode("[INST] fox[/INST]", special=True) == [500, *fox, 501]


def test_tokens_of_users_are_whole_in_plain_text(tmp_path: Path) -> None:
    tokenizer = load(tmp_path, added(llama_pieces(), "<tool>", kind=gguf.TokenType.USER_DEFINED))
    ids = tokenizer.encode("a <tool> b", special=False)
    assert (ids.count(500), tokenizer.token_bytes(500)) == (1, b"<tool>")


@pytest.mark.parametrize(("key", "ids"), [("eot", (2, 7)), ("eom", (2, 7))])
def test_named_ends_end_answers(tmp_path: Path, key: str, ids: tuple[int, ...]) -> None:
    changed: dict[str, Any] = {f"tokenizer.ggml.{key}_token_id": 7}
    tokenizer = load(tmp_path, llama_pieces(), **changed)
    assert tokenizer.eos_token_ids == ids


def test_bos_token_is_added_unless_the_file_forbids_it(tmp_path: Path) -> None:
    pieces = llama_pieces()
    silent = {key: value for key, value in pieces.metadata.items() if key != "tokenizer.ggml.add_bos_token"}
    for name, metadata, first in (("silent", silent, 1), ("off", silent | {"tokenizer.ggml.add_bos_token": False}, 0)):
        (tmp_path / name).mkdir()
        prompt = load(tmp_path / name, replace(pieces, metadata=metadata)).encode_prompt("fox")
        assert prompt.count(1) == first


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"tokenizer.ggml.remove_extra_whitespaces": True}, "tokenizer.ggml.remove_extra_whitespaces"),
        ({"tokenizer.ggml.scores": [0.0]}, "500 tokens, but 1 scores"),
    ],
)
def test_unsupported_vocabulary_is_refused_naming_the_key(tmp_path: Path, changed: dict[str, Any], words: str) -> None:
    with pytest.raises(ConversionError, match=words):
        load(tmp_path, llama_pieces(), **changed)


def test_tab_that_is_only_a_byte_joins_runs_of_tabs(tmp_path: Path) -> None:
    pieces = gemma_pieces()
    tab = pieces.tokens.index("\t")
    pieces.tokens[tab] = "\t\t"
    tokenizer = load(tmp_path, pieces)
    byte = pieces.tokens.index("<0x09>")
    assert tokenizer.encode("a\tb\t\t\tc", special=False)[1:-1] == [
        byte,
        tokenizer.encode("b", special=False)[0],
        tab,
        byte,
    ]


def test_names_of_tokens_are_in_the_configuration(tmp_path: Path) -> None:
    load(tmp_path, llama_pieces())
    config = json.loads((tmp_path / "model" / "tokenizer_config.json").read_text())
    assert (config["bos_token"], config["eos_token"], config["unk_token"]) == ("<s>", "</s>", "<unk>")
