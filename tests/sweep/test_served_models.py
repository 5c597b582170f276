"""A saved model of each popular family, served as a user would.

Chats over the SDK continue after `kill -9`, tools are called in the syntax of the family, and others are held on the
page.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import default_cache_dir
from tests.e2e.server_process import ServerProcess, ebb_process
from tests.family_folders import FOLDERS, POSITIONS, save_family_folder
from tests.many_models import MARK
from tests.redis_server import RedisServer
from tests.served_chat import answer_returns_after_a_kill
from tests.sweep.page_chat import chat_on_the_page
from tests.sweep.tool_chat import family_calls_its_tools, unwanted_ids
from tests.tiny_gguf import MIXES, write_block_gguf

pytestmark = MARK

QUESTION = "The tides follow the moon, and the moon follows its path around the earth. " * 3
BLOCK = 64


@pytest.mark.parametrize("name", FOLDERS)
def test_family_calls_tools_and_survives_a_kill(name: str, tmp_path: Path) -> None:
    family = FOLDERS[name]
    folder = save_family_folder(tmp_path / "model", family)
    with serving(folder, tmp_path, window=POSITIONS) as (server, redis):
        unwanted = unwanted_ids(server.url, family)
        answer_returns_after_a_kill(server, redis, QUESTION, kept=3 * BLOCK, unwanted=unwanted)
        family_calls_its_tools(server.url, family)
        asyncio.run(chat_on_the_page(server.url))


def test_gguf_file_of_four_bits_is_served_and_survives_a_kill(tmp_path: Path) -> None:
    model = write_block_gguf(tmp_path / "model-Q4_K_M.gguf", MIXES["Q4_K_M"])
    with serving(model, tmp_path, window=512) as (server, redis):
        answer_returns_after_a_kill(server, redis, QUESTION, kept=3 * BLOCK)
        asyncio.run(chat_on_the_page(server.url))


@contextmanager
def serving(model: Path, folder: Path, *, window: int) -> Iterator[tuple[ServerProcess, RedisServer]]:
    """Serve the model at `model` with a Redis server, and yield both."""
    redis = RedisServer(folder)
    flags = ("--model", str(model), "--cache-dir", str(default_cache_dir()), "--max-model-len", str(window))
    try:
        with ebb_process(folder, *flags, "--redis-url", f"unix://{redis.socket}") as server:
            yield server, redis
    finally:
        redis.kill()
