"""Text to token ids and back with tokenizer.json, on the `tokenizers` library alone: importing transformers takes
seconds."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import tokenizers

from models.errors import TokenizerError
from models.folder import ModelFolder
from models.slices import Slices, longest_text
from models.thinking import MARKERS

LONGEST_UNCUT: Final = 1 << 20
"""Characters that the library takes at once. Other threads run while it works."""

MOST_COMPOSED: Final = 4
"""Characters that a normalizer makes one of, at most."""


class Tokenizer:
    """Satisfies `models.text_tokenizer.TextTokenizer`."""

    drops_first_space = False

    def __init__(
        self,
        spec: dict[str, Any],
        *,
        bos_token_id: int | None,
        eos_token_ids: tuple[int, ...],
        most_ids: int | None = None,
    ) -> None:
        """Build the tokenizer of `spec`, the value of tokenizer.json. Raises TokenizerError when it cannot be used.

        most_ids: the most that a text may have; None: any number.
        """
        self.bos_token_id = bos_token_id
        self.eos_token_ids = eos_token_ids
        # Some folders keep the truncation and padding of their training: a prompt must arrive whole.
        spec = spec | {"truncation": None, "padding": None}
        # The marks of a thought are often added as text; what people write must not become one.
        marks = {text for pair in MARKERS for text in pair}
        for token in spec.get("added_tokens", []):
            token["special"] = token["special"] or token["id"] in eos_token_ids or token["content"] in marks
        try:
            self._full = tokenizers.Tokenizer.from_str(json.dumps(spec))
        except Exception as error:  # the library raises bare Exception
            raise TokenizerError(f"tokenizer.json cannot be used: {error}") from error
        # Two instances, because this switch belongs to the instance and requests are encoded in parallel.
        self._plain = _twin(self._full)
        self._plain.encode_special_tokens = True
        added = self._full.get_added_tokens_decoder()
        self.control_tokens: dict[str, int] = {token.content: id_ for id_, token in added.items() if token.special}
        self._control_ids = frozenset(self.control_tokens.values())
        self._bytes_of = _byte_decoder(spec)
        self.most_ids = most_ids
        texts = [self.token_bytes(id_).decode(errors="replace") for id_ in range(self.vocab_size)]
        texts += self.control_tokens
        self._slices = Slices(LONGEST_UNCUT, most_ids)
        if _may_be_cut(spec):
            # Control tokens are cut out of a text before all else, so what holds with them holds without them.
            self._slices = Slices.find(
                self._encode_special,
                texts,
                control=self.control_tokens,
                longest_uncut=LONGEST_UNCUT,
                most_ids=most_ids,
            )
        self.longest_text = longest_text(texts, most_ids, 1 if spec.get("normalizer") is None else MOST_COMPOSED)
        self._before, self._after = self._around()

    @classmethod
    def load(cls, path: Path, most_ids: int | None = None) -> "Tokenizer":
        """Read tokenizer.json in the folder `path`, and the ids that begin and end texts from its configurations.

        Raises TokenizerError when tokenizer.json is missing or cannot be used.
        """
        folder = ModelFolder(path)
        try:
            spec = json.loads((path / "tokenizer.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise TokenizerError(f"{path} has no tokenizer.json; other tokenizer files are not read") from None
        except (OSError, ValueError) as error:
            raise TokenizerError(f"{path / 'tokenizer.json'} cannot be read: {error}") from error
        bos = folder.token_ids("bos_token_id")
        return cls(
            spec,
            bos_token_id=bos[0] if bos else None,
            eos_token_ids=folder.token_ids("eos_token_id"),
            most_ids=most_ids,
        )

    @property
    def vocab_size(self) -> int:
        """How many ids have a token; the model's own vocabulary may be padded beyond it."""
        return self._full.get_vocab_size(with_added_tokens=True)

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Return the ids of `text`, with nothing put before or after. Raises TextTooLongError beyond `most_ids`.

        special: whether the text of a control token, such as "<|im_end|>", becomes that token or stays plain text.
        """
        return self._slices.encode(self._encode_special if special else self._encode_plain, text)

    def encode_prompt(self, text: str) -> list[int]:
        """Return the ids of a raw prompt. Raises TextTooLongError beyond `most_ids`.

        The text of a control token becomes that token, and what the model wants around a text (often a first token)
        is added.
        """
        return [*self._before, *self.encode(text, special=True), *self._after]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`; special tokens are left out, bytes that are no UTF-8 become U+FFFD."""
        return self._full.decode(list(ids), skip_special_tokens=True)

    def describe(self, ids: Sequence[int]) -> str:
        """The text of `ids` for a person: control tokens by their names, bytes that are no UTF-8 as U+FFFD."""
        return b"".join(self._name_or_bytes(id_) for id_ in ids).decode(errors="replace")

    def _name_or_bytes(self, id_: int) -> bytes:
        control = self._full.id_to_token(id_) if id_ in self._control_ids else None
        return control.encode() if control is not None else self.token_bytes(id_)

    def token_bytes(self, id_: int) -> bytes:
        """The bytes that this token adds to a text: b"" for control tokens and ids without a token.

        Joined over a text they give what `decode` gives, except that `decode` of a sentencepiece-like vocabulary
        drops one space at the very start of the text.
        """
        token = None if id_ in self._control_ids else self._full.id_to_token(id_)
        return b"" if token is None else self._bytes_of(token)

    # `encode_batch_fast` gives the ids of `encode`, lets other threads run, and makes no offsets.

    def _encode_special(self, text: str) -> list[int]:
        return self._full.encode_batch_fast([text], add_special_tokens=False)[0].ids

    def _encode_plain(self, text: str) -> list[int]:
        return self._plain.encode_batch_fast([text], add_special_tokens=False)[0].ids

    def _around(self) -> tuple[list[int], list[int]]:
        """The ids that the model wants before and after a raw prompt."""
        plain = self._encode_special("x")
        whole = self._full.encode("x", add_special_tokens=True).ids
        at = next((at for at in range(len(whole)) if whole[at : at + len(plain)] == plain), 0)
        return whole[:at], whole[at + len(plain) :]


def _twin(of: tokenizers.Tokenizer) -> tokenizers.Tokenizer:
    """Another instance on the same model: the vocabulary and its merges, which take a tenth of a second to read."""
    twin = tokenizers.Tokenizer(of.model)
    twin.normalizer, twin.pre_tokenizer = of.normalizer, of.pre_tokenizer
    twin.post_processor, twin.decoder = of.post_processor, of.decoder
    added = of.get_added_tokens_decoder()
    twin.add_tokens([added[id_] for id_ in sorted(added)])
    return twin


def _may_be_cut(spec: dict[str, Any]) -> bool:
    """Tell whether encoding is a function of words, or of merges that the vocabulary shows."""
    model = spec["model"]
    if model.get("type", "BPE") != "BPE" or model.get("dropout"):
        return False
    if any(token.get(name) for token in spec.get("added_tokens", []) for name in ("lstrip", "rstrip", "single_word")):
        return False
    normalizers = _parts(spec.get("normalizer"), "normalizers")
    if any(part["type"] not in ("NFC", "Prepend", "Replace") for part in normalizers):
        return False
    words = [
        part
        for part in _parts(spec.get("pre_tokenizer"), "pretokenizers")
        if part.get("use_regex") or "Regex" in (part.get("pattern") or ())
    ]
    # Bytes merge across characters, which their tokens' texts do not show.
    is_bytes = any(part["type"] == "ByteLevel" for part in _parts(spec.get("decoder"), "decoders"))
    return bool(words) or not is_bytes


def _parts(value: dict[str, Any] | None, name: str) -> list[dict[str, Any]]:
    """The parts of a sequence, or the only one."""
    return [] if value is None else value.get(name, [value])


class _BytesOf(Protocol):
    def __call__(self, token: str, /) -> bytes: ...


def _byte_decoder(spec: dict[str, Any]) -> _BytesOf:
    """The way from a token's text to its bytes. Raises TokenizerError for a decoder that is neither of the two."""
    decoder = spec.get("decoder") or {}
    kinds = [part.get("type") for part in decoder.get("decoders", [decoder])]
    if kinds == ["ByteLevel"]:
        return _ByteLevel()
    if "ByteFallback" in kinds or "Metaspace" in kinds:
        return _sentencepiece_bytes
    raise TokenizerError(f"tokenizer.json has the decoder {kinds}; known are ByteLevel and ByteFallback")


class _ByteLevel:
    """GPT-2's alphabet: each of the 256 bytes is written as one printable character."""

    def __init__(self) -> None:
        printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
        others = [byte for byte in range(256) if byte not in printable]
        self._byte_of = {chr(byte): byte for byte in printable}
        self._byte_of |= {chr(256 + index): byte for index, byte in enumerate(others)}

    def __call__(self, token: str) -> bytes:
        try:
            return bytes(self._byte_of[character] for character in token)
        except KeyError:  # a token that was added as text, not learned over bytes
            return token.encode()


def _sentencepiece_bytes(token: str) -> bytes:
    if len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
        try:
            return bytes([int(token[3:5], 16)])
        except ValueError:
            pass
    return token.replace("▁", " ").encode()
