"""Long texts are encoded in slices to the ids of the whole, for every kind of tokenizer."""

import json
import random
import re
from collections.abc import Callable

import pytest
import tokenizers
from tokenizers import Regex
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.decoders import Metaspace as MetaspaceDecoder
from tokenizers.models import BPE
from tokenizers.normalizers import NFC
from tokenizers.pre_tokenizers import ByteLevel, Digits, Metaspace, Sequence, Split
from tokenizers.trainers import BpeTrainer

from models.errors import TextTooLongError
from models.tokenizers import slices
from models.tokenizers.sentencepiece_tokenizer import SentencePieceTokenizer
from models.tokenizers.slices import SPACES, Slices
from models.tokenizers.text_tokenizer import TextTokenizer
from models.tokenizers.tokenizer import Tokenizer
from tests.sizes import Size
from tests.tiny_openpangu import sentencepiece_model
from tests.tiny_tokenizer import byte_tokenizer
from tests.unit.models.tokenizers.test_tokenizer import sentencepiece_like

LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
TEXTS = [
    "the quick brown fox doesn't jump, it's 1234!\n\n    over   it. ",
    "你好，世界。再见！ こんにちは、",
    "x == y;\n\t}\n",
]
PIECES = [
    *" \n\t\r'.,!?;1aéZ_-，。！世你カ🙂", "  ", "   ", "\n\n", " \n", "'s", "'ll", " the", "quick", "世界",
    "<|im_end|>", "<s>",
    "\u0301", "\u3000", "\xa0", "\x85", "\u2028", "123", "ー", "[unused1]", "▁", "\u1112\u1161\u11ab",
]  # fmt: skip


def trained(pre_tokenizer: object, *, normalizer: object = None) -> Tokenizer:
    library = tokenizers.Tokenizer(BPE())
    library.pre_tokenizer = pre_tokenizer  # type: ignore[assignment]
    library.normalizer = normalizer  # type: ignore[assignment]
    is_metaspace = isinstance(pre_tokenizer, Metaspace)
    library.decoder = MetaspaceDecoder() if is_metaspace else ByteLevelDecoder()
    alphabet = [*"".join([*TEXTS, *PIECES]), "▁"] if is_metaspace else ByteLevel.alphabet()
    library.train_from_iterator(
        TEXTS * 20,
        BpeTrainer(vocab_size=700, initial_alphabet=alphabet, special_tokens=["<|im_end|>"], show_progress=False),
    )
    return of(library)


def of(library: tokenizers.Tokenizer) -> Tokenizer:
    return Tokenizer(json.loads(library.to_str()), bos_token_id=None, eos_token_ids=())


def words(pattern: str) -> Sequence:
    return Sequence([Split(Regex(pattern), "isolated"), ByteLevel(add_prefix_space=False, use_regex=False)])


KINDS: dict[str, Callable[[], TextTokenizer]] = {
    "gpt-2": lambda: trained(ByteLevel(add_prefix_space=False)),
    "smollm2": lambda: trained(Sequence([Digits(individual_digits=True), ByteLevel(add_prefix_space=False)])),
    "llama-3": lambda: trained(words(LLAMA_3)),
    "qwen-2": lambda: trained(words(LLAMA_3.replace(r"\p{N}{1,3}", r"\p{N}")), normalizer=NFC()),
    "llama-2": lambda: of(sentencepiece_like()),
    "metaspace": lambda: trained(Metaspace(prepend_scheme="first")),
    "bytes": lambda: of(byte_tokenizer()),
    "openpangu": lambda: SentencePieceTokenizer(
        sentencepiece_model(), {"[unused1]": 4}, bos_token_id=1, eos_token_ids=(2,), add_bos=True
    ),
}


def text_of(chance: random.Random, length: int) -> str:
    some = chance.sample(PIECES, chance.randint(2, len(PIECES)))
    return "".join(
        chance.choice([*some, *TEXTS]) if chance.random() < 0.2 else chance.choice(some) for _ in range(length)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_slices_give_the_ids_of_the_whole(kind: str, size: Size, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = KINDS[kind]()
    assert tokenizer._slices.cut is not None  # type: ignore[attr-defined]
    chance = random.Random(kind)
    num_cut = 0
    for round_ in range(size.pick(small=150, full=5000)):
        text = text_of(chance, chance.randint(10, 200))
        special = bool(round_ % 2)
        whole = tokenizer.encode(text, special=special)
        monkeypatch.setattr(slices, "SLICE", chance.randint(1, 40))
        assert tokenizer.encode(text, special=special) == whole, text
        num_cut += bool(tokenizer._slices._places(text, 1, len(text)))  # type: ignore[attr-defined]
        monkeypatch.undo()
    assert num_cut > 50


def test_byte_level_without_words_is_never_cut() -> None:
    tokenizer = trained(ByteLevel(add_prefix_space=False, use_regex=False))
    assert tokenizer._slices.cut is None


def test_tokens_that_span_a_cut_are_left_whole() -> None:
    def encode(text: str) -> list[int]:
        return [len(token) for token in re.findall("new york|[a-z]+| [a-z]+|.", text, re.DOTALL)]

    found = Slices(100, None, SPACES, ("new york",))
    assert found._places("a new york b", 1, 12) == [1, 10]
    assert found._is_exact(encode, "a new york b")
    assert not Slices(100, None, SPACES)._is_exact(encode, "new york")


def test_a_text_is_encoded_no_further_than_the_most_ids() -> None:
    seen = list[int]()

    def encode(text: str) -> list[int]:
        seen.append(len(text))
        return [0] * len(text)

    cuts = Slices(1 << 20, 20_000, SPACES)
    for text in ("the " * 500_000, "a" * 1_000_000):
        seen.clear()
        with pytest.raises(TextTooLongError, match="20000 tokens"):
            cuts.encode(encode, text)
        assert sum(seen) < 100_000
    with pytest.raises(TextTooLongError, match="in a row"):
        cuts.encode(encode, "a" * (1 << 21))
