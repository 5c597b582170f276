"""Files: models of strangers, settings of operators, stored tokens, and what clients read of a server."""

import asyncio
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from app.cli.chat_answer import printable
from app.config.parsers import (
    parse_aliases,
    parse_group_limits,
    parse_group_rights,
    parse_group_roles,
    parse_line_patterns,
    parse_networks,
    parse_origins,
    parse_token_prices,
    parse_weights,
)
from app.config.parsers import parse_replica_roles as parse_replica_roles
from app.config.settings import load_settings
from app.config.sizes import parse_size
from app.domain.token_history import num_common, pack_ids, unpack_ids
from app.load.client import parse_metrics
from app.load.http_stream import read_response
from app.load.sse import SSEParser
from app.runs.place_log import PlaceLog
from app.storage.sqlite.restoration import complete_restore
from cache_tiers.redis.backend import parse_usage
from engine.fleet.wire.connection import FrameConnection
from models.download.hub.repository import HubName, RepoFile, Repository
from models.download.hub.selection import choices, gguf_files
from models.errors import ModelError
from models.gguf_import.byte_level import ByteLevelVocabulary
from models.gguf_import.metadata import Metadata
from models.gguf_import.reader import GgufFile
from models.gguf_import.sentencepiece import SentencePieceVocabulary
from models.gguf_import.tokens import Tokens
from models.thinking import find_thinking
from models.tokenizers.sentencepiece_model import merges_plain_text, without_pieces
from models.weights.block_types import METADATA_KEY, stored_types
from models.weights.folder import ModelFolder
from tests.cost_rows import MOST_GROWTH, CostRow, for_each, growth, repeated
from tests.sizes import Size

STRING, LIST, BYTE = 8, 9, 0
"""Types of values in GGUF."""


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def gguf(num_tensors: int, num_values: int, *parts: bytes) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, num_tensors, num_values) + b"".join(parts)


def gguf_values(size: int) -> bytes:
    return gguf(0, size, *(text(f"a{each}") + struct.pack("<IB", BYTE, 1) for each in range(size)))


def gguf_strings(size: int) -> bytes:
    return gguf(0, 1, text("a") + struct.pack("<IIQ", LIST, STRING, size) + text("b") * size)


def gguf_nested(size: int) -> bytes:
    return gguf(0, 1, text("a") + struct.pack("<I", LIST) + struct.pack("<IQ", LIST, 1) * size)


def gguf_lists(size: int) -> bytes:
    return gguf(0, 1, text("a") + struct.pack("<IIQ", LIST, LIST, size) + struct.pack("<IQ", BYTE, 0) * size)


def gguf_tensors(size: int) -> bytes:
    described = (text(f"t{each}") + struct.pack("<IQIQ", 1, 32, 0, 128 * each) for each in range(size))
    head = gguf(size, 0, *described)
    return head + bytes(-len(head) % 32) + bytes(128 * size)


def safetensors(header: dict[str, Any], nbytes: int = 0) -> bytes:
    written = json.dumps(header).encode()
    return struct.pack("<Q", len(written)) + written + bytes(nbytes)


def safetensors_names(size: int) -> bytes:
    tensors = {f"t{each}": {"dtype": "U8", "shape": [1], "data_offsets": [each, each + 1]} for each in range(size)}
    return safetensors(tensors, size)


def safetensors_types(size: int) -> bytes:
    return safetensors({"__metadata__": {METADATA_KEY: json.dumps({f"t{each}": "Q8_0" for each in range(size)})}})


def repository(size: int) -> Repository:
    files = tuple(RepoFile(f"a-{each % 7}-Q4_K_M.gguf", 1, "", "") for each in range(size))
    return Repository("a/b", "c", files, "", None)


def vocabulary(*texts: str) -> Metadata:
    """Return the metadata of a GGUF file with these tokens."""
    names = {"tokens": texts, "token_type": [1] * len(texts), "scores": [0.0] * len(texts), "merges": []}
    values = {f"tokenizer.ggml.{name}": list(value) for name, value in names.items()}
    return Metadata({**values, "tokenizer.ggml.pre": "gpt-2", "general.architecture": "llama"})


def pieces_tokenizer(metadata: Metadata) -> object:
    return SentencePieceVocabulary(metadata, Tokens.read(metadata)).tokenizer()


def bytes_tokenizer(metadata: Metadata) -> object:
    return ByteLevelVocabulary(metadata, Tokens.read(metadata)).tokenizer()


RESPONSE: Final = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"


def receive(body: bytes) -> None:
    """Read a response that comes in small pieces."""
    read_response([(0.0, body[at : at + 64]) for at in range(0, len(body), 64)])


def receive_frames(data: bytes) -> None:
    """Read frames of a replica that come in small pieces."""
    connection = FrameConnection(lambda _frame: None, lambda: None)
    connection.connection_made(asyncio.Transport())
    connection.max_frame = len(data)
    for at in range(0, len(data), 64):
        connection.data_received(data[at : at + 64])


def toml(line: str, before: str = "") -> Callable[[int], str]:
    return repeated(line, before)


def feed(body: bytes) -> None:
    """Read a stream of events that comes in small pieces."""
    parser = SSEParser()
    for at in range(0, len(body), 16):
        parser.feed(body[at : at + 16])


def at(path: Path, name: str, read: Callable[[Path], object]) -> Callable[[bytes | str], object]:
    """Return a reader of a file. Writing it costs little, and in proportion to its size."""

    def write_and_read(contents: bytes | str) -> object:
        data = contents if isinstance(contents, bytes) else contents.encode()
        (path / name).write_bytes(data)
        return read(path / name)

    return write_and_read


FILES: Final[tuple[tuple[str, str, Callable[[Path], object], Callable[[int], bytes | str], int, int], ...]] = (
    ("values of a GGUF file", "a.gguf", GgufFile.open, gguf_values, 400, 16_000),
    ("strings of a GGUF file", "a.gguf", GgufFile.open, gguf_strings, 1_000, 64_000),
    ("lists of a GGUF file", "a.gguf", GgufFile.open, gguf_lists, 500, 16_000),
    ("nested lists of a GGUF file", "a.gguf", GgufFile.open, gguf_nested, 50, 4_000),
    ("tensors of a GGUF file", "a.gguf", GgufFile.open, gguf_tensors, 100, 2_000),
    ("names of a safetensors file", "a.safetensors", lambda file: stored_types([file]), safetensors_names, 500, 16_000),
    (
        "types of a safetensors file",
        "a.safetensors",
        lambda file: stored_types([file]),
        safetensors_types,
        1_000,
        32_000,
    ),
    (
        "config of a model",
        "config.json",
        lambda file: ModelFolder(file.parent).config(),
        repeated("[", '{"a": '),
        1_000,
        64_000,
    ),
    ("settings of brackets", "a.toml", lambda file: load_settings({"config": str(file)}), toml("[", "a = "), 100, 400),
    ("settings of tables", "a.toml", lambda file: load_settings({"config": str(file)}), toml("[[a]]\n"), 500, 8_000),
    ("settings of dots", "a.toml", lambda file: load_settings({"config": str(file)}), toml("a.", "a."), 200, 2_000),
    (
        "settings of strings",
        "a.toml",
        lambda file: load_settings({"config": str(file)}),
        toml("\\\\", 'a = "'),
        1_000,
        64_000,
    ),
    ("places of runs", "places", lambda file: PlaceLog(file).read(), repeated("run 1\n"), 1_000, 16_000),
    (
        "plan of a restore",
        "a.db-restore",
        lambda file: complete_restore(file.with_name("a.db")),
        repeated("[", '{"a":'),
        1_000,
        64_000,
    ),
)

ROWS: Final = (
    CostRow("files of a repository", repository, lambda found: choices(found, gguf_files(found)), 200, 8_000),
    CostRow("name of a repository", repeated("a/b:"), HubName.parse, 4_000, 64_000),
    CostRow("template that thinks", repeated("{% if a"), lambda source: find_thinking({}, source), 200, 400),
    CostRow("roles of groups", lambda n: ",".join(f"a{i}=user" for i in range(n)), parse_group_roles, 1_000, 16_000),
    CostRow(
        "limits of groups",
        lambda n: ",".join(f"a{i}.open-requests=1" for i in range(n)),
        parse_group_limits,
        500,
        8_000,
    ),
    CostRow(
        "rights of groups", lambda n: ",".join(f"a{i}=keys+files" for i in range(n)), parse_group_rights, 500, 8_000
    ),
    CostRow("patterns of lines", repeated("abcd*,"), parse_line_patterns, 2_000, 32_000),
    CostRow("networks", repeated("10.0.0.0/8,"), parse_networks, 200, 4_000),
    CostRow("origins", repeated("https://a,"), parse_origins, 500, 8_000),
    CostRow("size of memory", repeated("1"), parse_size, 1_000, 4_000),
    CostRow(
        "prices of tokens",
        repeated("1"),
        lambda digits: parse_token_prices(f"currency=EUR,input={digits}"),
        2_000,
        32_000,
    ),
    CostRow("aliases of a model", lambda n: ",".join(f"a{i}=b" for i in range(n)), parse_aliases, 1_000, 16_000),
    CostRow("weights of tenants", lambda n: ",".join(f"a{i}=1" for i in range(n)), parse_weights, 1_000, 16_000),
    CostRow("roles of replicas", repeated("both,"), parse_replica_roles, 1_000, 16_000),
    CostRow("model of SentencePiece", lambda n: b"\n\5\n\3abc" * n, lambda m: without_pieces(m, {"a"}), 1_000, 32_000),
    CostRow("trainer of SentencePiece", lambda n: b"\x12\0" * n, merges_plain_text, 1_000, 64_000),
    CostRow(
        "pieces of a vocabulary", lambda n: vocabulary(*(f"{i:06}" for i in range(n))), pieces_tokenizer, 500, 16_000
    ),
    CostRow(
        "long piece of a vocabulary", lambda n: vocabulary("a" * n), pieces_tokenizer, 4_000, 16_000, (ModelError,)
    ),
    CostRow(
        "tokens of a vocabulary", lambda n: vocabulary(*(f"{i:06}" for i in range(n))), bytes_tokenizer, 500, 16_000
    ),
    CostRow("stored ids", lambda n: pack_ids(range(n)), unpack_ids, 4_000, 250_000),
    CostRow(
        "ids that differ at the end",
        lambda n: (bytes(4 * n) + bytes(4), bytes(4 * n) + b"\1" * 4),
        lambda pair: num_common(*pair),
        64_000,
        100_000,
    ),
    CostRow("events of one long line", lambda n: b"data: " + b"a" * n + b"\n\n", feed, 16_000, 1_000_000),
    CostRow("events of lines", lambda n: b"data: a\n" * n + b"\n", feed, 1_000, 64_000),
    CostRow("events of line ends", lambda n: b"\r" * n, feed, 8_000, 500_000),
    CostRow("response of chunks", lambda n: RESPONSE + b"\r\n" + b"1\r\na\r\n" * n, receive, 1_000, 64_000),
    CostRow("response of a long chunk", lambda n: RESPONSE + b"\r\n%x\r\n" % n + b"a" * n, receive, 64_000, 1_000_000),
    CostRow("response of headers", lambda n: RESPONSE + b"a: b\r\n" * n, receive, 4_000, 64_000),
    CostRow("figures of a server", repeated('a{b="c"} 1\n'), parse_metrics, 500, 16_000),
    CostRow("figures with brackets", repeated("} ", "a{"), parse_metrics, 1_000, 16_000),
    CostRow("facts about Redis", lambda n: b"a:b\r\n" * n, parse_usage, 1_000, 32_000),
    CostRow("frames of a replica", lambda n: b"\1\0\0\0a" * n, receive_frames, 1_000, 32_000),
    CostRow("long frame of a replica", lambda n: n.to_bytes(4, "little") + bytes(n), receive_frames, 64_000, 1_000_000),
    CostRow("answer in the terminal", repeated("\x1b"), printable, 4_000, 250_000),
)


@for_each(ROWS)
def test_cost_grows_in_proportion_to_input(row: CostRow, size: Size) -> None:
    assert growth(row, size.pick(small=row.size, full=row.full)) <= MOST_GROWTH


@pytest.mark.parametrize(("name", "file", "read", "make", "small", "full"), FILES, ids=[each[0] for each in FILES])
def test_cost_of_a_file_grows_in_proportion_to_its_size(
    tmp_path: Path,
    size: Size,
    name: str,
    file: str,
    read: Callable[[Path], object],
    make: Callable[[int], bytes | str],
    small: int,
    full: int,
) -> None:
    row = CostRow(name, make, at(tmp_path, file, read), small, full, (ValueError, ModelError))
    assert growth(row, size.pick(small=row.size, full=row.full)) <= MOST_GROWTH
