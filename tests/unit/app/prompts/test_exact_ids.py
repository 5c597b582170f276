"""Token ids of the text that a client received: the produced ids as far as they match the text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Library
from tokenizers.decoders import ByteFallback, Fuse, Replace, Sequence, Strip
from tokenizers.models import BPE
from tokenizers.normalizers import Prepend
from tokenizers.normalizers import Replace as ReplaceText
from tokenizers.normalizers import Sequence as Normalizers

from app.prompts.exact_ids import exact_ids
from engine.testing.byte_tokenizer import END, WORDS, ByteTokenizer
from engine.text.detokenizer import Detokenizer, StopStrings
from models.tokenizers.tokenizer import Tokenizer

W0, W1, W2 = WORDS, WORDS + 1, WORDS + 2
SMILE = list("🙂".encode())


@pytest.mark.parametrize(
    ("produced", "text", "ids"),
    [
        ([W0, W1, END], " w0 w1", [W0, W1, END]),
        ([W0, W1], " w0 w1", [W0, W1]),
        ([W0, W1, W2], " w0 ", [W0, ord(" ")]),
        ([W0, W1, W2], " w0", [W0]),
        ([W0, *SMILE[:3]], " w0", [W0]),
        ([W0, *SMILE, W1], " w0🙂", [W0, *SMILE]),
        ([W0, 0xFF, W1, END], " w0\ufffd w1", [W0, 0xFF, W1, END]),
        ([W0, END, W1, END], " w0 w1", [W0, END, W1, END]),
        ([W0], " w1", [*b" w1"]),
        ([END], "", [END]),
    ],
)
def test_produced_ids_are_kept_up_to_the_cut(produced: list[int], text: str, ids: list[int]) -> None:
    assert exact_ids(ByteTokenizer(), produced, text) == ids


def test_mark_after_reasoning_has_no_exact_ids() -> None:
    marks = {END: b"[CALL]"}
    assert exact_ids(ByteTokenizer(), [W0, END, W1], " w0[CALL] w1", marks) == [W0, END, W1]
    assert exact_ids(ByteTokenizer(), [W2, W0, END, W1], " w0[CALL] w1", marks) is None
    assert exact_ids(ByteTokenizer(), [W2, W0], " w0", marks) is not None


BYTES = st.sampled_from([W0, W1, W2, *SMILE, *b"abc \n", *"é".encode(), 0xFF])


@given(st.lists(BYTES, max_size=30), st.lists(st.text("abc w01", min_size=1, max_size=3), max_size=2))
def test_exact_ids_decode_to_shown_text(produced: list[int], stop: list[str]) -> None:
    detokenizer, stops = Detokenizer(ByteTokenizer().token_bytes), StopStrings(tuple(stop))
    text = ""
    for count, id_ in enumerate(produced, 1):
        shown, met = stops.push(detokenizer.push(id_))
        text += shown
        if met is not None:
            produced = produced[:count]
            break
    else:
        text += stops.flush()
    ids = exact_ids(ByteTokenizer(), produced, text)
    assert ids is not None
    reader = Detokenizer(ByteTokenizer().token_bytes)
    assert "".join(map(reader.push, ids)) == text
    assert reader.is_between_characters


def sentencepiece_like() -> Tokenizer:
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "h", "i", "▁h", "▁hi"]
    library = Library(
        BPE(
            vocab={piece: index for index, piece in enumerate(pieces)},
            merges=[("▁", "h"), ("▁h", "i")],
            unk_token="<unk>",
            byte_fallback=True,
            fuse_unk=True,
        )
    )
    library.normalizer = Normalizers([Prepend("▁"), ReplaceText(" ", "▁")])
    library.decoder = Sequence([Replace("▁", " "), ByteFallback(), Fuse(), Strip(content=" ", left=1)])
    return Tokenizer(json.loads(library.to_str()), bos_token_id=1, eos_token_ids=(2,))


def test_tokenized_rest_gets_no_leading_space() -> None:
    tokenizer = sentencepiece_like()
    produced = tokenizer.encode("hi hi", special=False)
    for cut in range(1, 6):
        text = " hi hi"[:cut]
        ids = exact_ids(tokenizer, produced, text)
        assert ids is not None
        assert b"".join(map(tokenizer.token_bytes, ids)) == text.encode()


class WithoutLetters(ByteTokenizer):
    def encode(self, text: str, *, special: bool) -> list[int]:
        return [W0] * len(text)


def test_text_without_matching_ids_has_none() -> None:
    assert exact_ids(WithoutLetters(), [W1], " w0x") is None
