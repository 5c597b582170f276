import json
from pathlib import Path

from tokenizers import Tokenizer as Library
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from bench.thinking import LEAST_REUSED, Turn, is_met, row, table
from bench.thinking_model import with_thoughts
from models.tokenizers.tokenizer import Tokenizer

MERGES = [("e", "r"), ("H", "er"), ("Her", "e"), ("Ġ", "T"), ("ĠT", "h"), ("ĠTh", "e"), ("ĠThe", "s")]
TURN = Turn(prompt=1000, cached=980, completion=200, thought=50, ttft_ms=80.0)


def spec() -> dict[str, object]:
    tokens = [*sorted(ByteLevel.alphabet()), *("".join(pair) for pair in MERGES)]
    library = Library(BPE(vocab={token: index for index, token in enumerate(tokens)}, merges=MERGES))
    library.pre_tokenizer = ByteLevel(add_prefix_space=False, use_regex=True)
    library.decoder = ByteLevelDecoder()
    value: dict[str, object] = json.loads(library.to_str())
    return value


def test_two_tokens_become_marks_and_texts_round_trip(tmp_path: Path) -> None:
    before = Tokenizer(spec(), bos_token_id=None, eos_token_ids=())
    after = Tokenizer(with_thoughts(spec()), bos_token_id=None, eos_token_ids=())
    for text in ("Here. The end", "Heres These There <think>"):
        assert after.decode(after.encode(text, special=False)) == text
    assert after.control_tokens == {
        "<think>": before.encode("Here", special=False)[0],
        "</think>": before.encode(" The", special=False)[0],
    }
    assert after.encode("<think>", special=True) == [after.control_tokens["<think>"]]


def test_turn_with_little_reuse_or_no_thought_misses_target() -> None:
    least = Turn(1000, int(1000 * LEAST_REUSED) - 1, 200, 50, 80.0)
    assert is_met([row("after reading", [TURN, TURN])])
    assert not is_met([row("after reading", [TURN, least])])
    assert not is_met([row("after reading", [TURN, Turn(1000, 980, 200, 0, 80.0)])])
    assert is_met([row("after reading", [TURN]), row("at once", [least])])
    assert "| after reading | 1 | 1 | 1000 | 50 | 150 | 98.0% | 98.0% | 80 | at least 95%: met |" in table(
        [row("after reading", [TURN])]
    )
