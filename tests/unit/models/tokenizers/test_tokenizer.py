import json
from pathlib import Path

import pytest
from tokenizers import AddedToken
from tokenizers import Tokenizer as Library
from tokenizers.decoders import BPEDecoder, ByteFallback, Fuse, Metaspace, Replace, Sequence, Strip
from tokenizers.decoders import WordPiece as WordPieceDecoder
from tokenizers.models import BPE, WordPiece
from tokenizers.normalizers import Prepend
from tokenizers.normalizers import Replace as ReplaceText
from tokenizers.normalizers import Sequence as Normalizers
from tokenizers.pre_tokenizers import BertPreTokenizer

from engine.grammar.automaton import TokenView
from models.errors import TokenizerError
from models.tokenizers.text_tokenizer import load_tokenizer
from models.tokenizers.tokenizer import Tokenizer
from tests.tiny_openpangu import sentencepiece_model
from tests.tiny_tokenizer import byte_tokenizer

END = "<|im_end|>"


def load(path: Path, library: Library, **generation: object) -> Tokenizer:
    library.save(str(path / "tokenizer.json"))
    (path / "config.json").write_text("{}")
    (path / "generation_config.json").write_text(json.dumps(generation))
    return Tokenizer.load(path)


def sentencepiece_like() -> Library:
    """Build a tokenizer like those of Llama 2 and openPangu: pieces with ▁, and a fallback token for each byte."""
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "h", "i", "▁h", "▁hi"]
    library = Library(
        BPE(
            vocab={piece: index for index, piece in enumerate(pieces)},
            merges=[("▁", "h"), ("▁h", "i")],
            unk_token="<unk>",
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    library.normalizer = Normalizers([Prepend("▁"), ReplaceText(" ", "▁")])
    library.decoder = Sequence([Replace("▁", " "), ByteFallback(), Fuse(), Strip(" ", 1, 0)])
    library.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in ("<unk>", "<s>", "</s>")])
    return library


@pytest.mark.parametrize("text", ["plain", "naïve 日本語 🙂🙂", "tabs\t\n\n  and spaces ", "\x00\x7f�", ""])
def test_byte_level_text_round_trips_as_text_and_as_bytes(tmp_path: Path, text: str) -> None:
    tokenizer = load(tmp_path, byte_tokenizer())
    ids = tokenizer.encode(text, special=False)
    assert tokenizer.decode(ids) == text
    assert b"".join(map(tokenizer.token_bytes, ids)) == text.encode()


def test_incomplete_character_decodes_to_replacement_character(tmp_path: Path) -> None:
    tokenizer = load(tmp_path, byte_tokenizer())
    ids = tokenizer.encode("é", special=False)[:1]
    assert tokenizer.token_bytes(ids[0]) == b"\xc3"
    assert tokenizer.decode(ids) == "�"


def test_control_token_text_is_encoded_as_token_on_request_only(tmp_path: Path) -> None:
    tokenizer = load(tmp_path, byte_tokenizer())
    assert tokenizer.encode(f"a{END}", special=True)[1:] == [2]
    plain = tokenizer.encode(f"a{END}", special=False)
    assert 2 not in plain
    assert tokenizer.decode(plain) == f"a{END}"
    assert tokenizer.encode_prompt(f"a{END}")[1:] == [2]


def test_control_tokens_have_no_bytes_and_no_text(tmp_path: Path) -> None:
    tokenizer = load(tmp_path, byte_tokenizer())
    assert tokenizer.token_bytes(2) == b""
    assert tokenizer.decode([1, 2]) == ""


def test_ids_without_a_token_have_no_bytes(tmp_path: Path) -> None:
    tokenizer = load(tmp_path, byte_tokenizer())
    assert tokenizer.vocab_size == 259
    assert tokenizer.token_bytes(tokenizer.vocab_size) == b""


def test_bytes_of_added_text_tokens_match_decode(tmp_path: Path) -> None:
    library = byte_tokenizer()
    library.add_tokens([AddedToken("hello world"), AddedToken("名"), AddedToken("¡x")])
    tokenizer = load(tmp_path, library)
    for text in ("hello world", "名", "¡x"):
        ids = tokenizer.encode(text, special=False)
        assert len(ids) == 1
        assert tokenizer.token_bytes(ids[0]).decode(errors="replace") == tokenizer.decode(ids)


def test_truncation_and_padding_of_model_folder_are_ignored(tmp_path: Path) -> None:
    library = byte_tokenizer()
    library.enable_truncation(4)
    library.enable_padding(length=4)
    tokenizer = load(tmp_path, library)
    assert len(tokenizer.encode("longer than four", special=False)) == 16
    assert len(tokenizer.encode_prompt("x")) == 1


def test_eos_ids_merge_both_configs_in_order_without_repeats(tmp_path: Path) -> None:
    byte_tokenizer().save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [2, 0], "bos_token_id": 1}')
    (tmp_path / "config.json").write_text('{"eos_token_id": 0, "bos_token_id": 0}')
    tokenizer = Tokenizer.load(tmp_path)
    assert tokenizer.eos_token_ids == (2, 0)
    assert tokenizer.bos_token_id == 1


@pytest.mark.parametrize("file", ["tokenizer_config.json", "special_tokens_map.json"])
@pytest.mark.parametrize("named", [END, {"content": END, "lstrip": False}])
def test_tokenizers_own_eos_token_ends_a_generation_too(tmp_path: Path, file: str, named: object) -> None:
    (tmp_path / file).write_text(json.dumps({"eos_token": named}))
    assert load(tmp_path, byte_tokenizer(), eos_token_id=0).eos_token_ids == (0, 2)
    assert load(tmp_path, byte_tokenizer(), eos_token_id=2).eos_token_ids == (2,)
    assert load(tmp_path, byte_tokenizer()).eos_token_ids == (2,)


def test_eos_token_of_tokenizer_config_precedes_the_older_file(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": END}))
    (tmp_path / "special_tokens_map.json").write_text(json.dumps({"eos_token": "<|endoftext|>"}))
    assert load(tmp_path, byte_tokenizer()).eos_token_ids == (2,)


@pytest.mark.parametrize("eos_token", [None, "", "<|absent|>"])
def test_eos_token_that_is_no_added_token_adds_no_end(tmp_path: Path, eos_token: str | None) -> None:
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": eos_token}))
    assert load(tmp_path, byte_tokenizer(), eos_token_id=0).eos_token_ids == (0,)


def test_eos_ids_of_the_text_part_of_config_json_count(tmp_path: Path) -> None:
    byte_tokenizer().save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "config.json").write_text('{"eos_token_id": 2, "text_config": {"eos_token_id": [0, 2]}}')
    assert Tokenizer.load(tmp_path).eos_token_ids == (2, 0)


@pytest.mark.parametrize(("named", "ends"), [("[unused10]", (5, 13)), (None, (5, 2))])
def test_eos_piece_of_a_sentencepiece_model_ends_too(tmp_path: Path, named: str | None, ends: tuple[int, ...]) -> None:
    (tmp_path / "tokenizer.model").write_bytes(sentencepiece_model())
    (tmp_path / "config.json").write_text('{"eos_token_id": 5}')
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": named}))
    tokenizer = load_tokenizer(tmp_path)
    assert tokenizer.eos_token_ids == ends
    assert set(ends) <= set(tokenizer.control_tokens.values())


def test_eos_token_not_marked_special_is_control_token(tmp_path: Path) -> None:
    library = byte_tokenizer()
    library.add_tokens([AddedToken("[unused10]", normalized=False)])
    tokenizer = load(tmp_path, library, eos_token_id=259)
    assert tokenizer.encode("[unused10]", special=True) == [259]
    assert 259 not in tokenizer.encode("[unused10]", special=False)
    assert tokenizer.token_bytes(259) == b""


@pytest.mark.parametrize("text", ["hi hi", "日本", "hi é", "🙂"])
def test_byte_fallback_tokens_join_to_text_with_leading_space(tmp_path: Path, text: str) -> None:
    tokenizer = load(tmp_path, sentencepiece_like())
    ids = tokenizer.encode(text, special=False)
    assert b"".join(map(tokenizer.token_bytes, ids)) == b" " + text.encode()
    assert tokenizer.decode(ids) == text


def test_space_that_encoding_adds_is_dropped_from_texts(tmp_path: Path) -> None:
    library = sentencepiece_like()
    assert load(tmp_path, library).drops_first_space
    assert not load(tmp_path, byte_tokenizer()).drops_first_space
    library.decoder = Metaspace()
    assert load(tmp_path, library).drops_first_space
    library.decoder = Metaspace(prepend_scheme="never")
    assert not load(tmp_path, library).drops_first_space


def test_forced_text_of_a_grammar_has_no_space_before_it(tmp_path: Path) -> None:
    tokenizer = load(tmp_path, sentencepiece_like(), eos_token_id=2)
    assert [tokenizer.token_bytes(id_) for id_ in TokenView(tokenizer)("hi")] == [b"h", b"i"]


def test_fallback_token_is_one_byte(tmp_path: Path) -> None:
    tokenizer = load(tmp_path, sentencepiece_like())
    assert tokenizer.token_bytes(3 + 0xE6) == b"\xe6"


def test_missing_tokenizer_json_is_rejected_by_name(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match=r"no tokenizer\.json"):
        Tokenizer.load(tmp_path)


@pytest.mark.parametrize("text", ["{", '{"model": 1}'])
def test_invalid_tokenizer_json_is_rejected(tmp_path: Path, text: str) -> None:
    (tmp_path / "tokenizer.json").write_text(text)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(TokenizerError, match=r"tokenizer\.json"):
        Tokenizer.load(tmp_path)


def test_unknown_decoder_is_rejected_by_name(tmp_path: Path) -> None:
    library = Library(WordPiece({"[UNK]": 0}, unk_token="[UNK]"))
    library.decoder = BPEDecoder()
    with pytest.raises(TokenizerError, match="BPEDecoder"):
        load(tmp_path, library)


def test_word_pieces_have_the_bytes_of_their_text(tmp_path: Path) -> None:
    library = Library(WordPiece({"[UNK]": 0, "sea": 1, "##side": 2, "walk": 3}, unk_token="[UNK]"))
    library.pre_tokenizer, library.decoder = BertPreTokenizer(), WordPieceDecoder()
    tokenizer = load(tmp_path, library)
    ids = tokenizer.encode("seaside walk", special=False)
    assert ids == [1, 2, 3]
    assert tokenizer.drops_first_space
    assert b"".join(map(tokenizer.token_bytes, ids)) == b" " + tokenizer.decode(ids).encode() == b" seaside walk"
