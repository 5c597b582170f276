"""A saved model of each popular family, served as a user would.

Chats over the SDK continue after `kill -9`, and others are held on the page.
"""

import asyncio
from pathlib import Path

import pytest

from tests.conftest import default_cache_dir
from tests.e2e.server_process import ebb_process
from tests.family_models import save_family
from tests.redis_server import RedisServer
from tests.served_chat import answer_returns_after_a_kill
from tests.sweep.page_chat import chat_on_the_page
from tests.tiny_gguf import MIXES, write_block_gguf

SAVED = ("qwen3", "gemma3", "mistral, window", "llama 3", "phi3", "granite")
QUESTION = "The tides follow the moon, and the moon follows its path around the earth. " * 3
BLOCK = 64


@pytest.mark.parametrize("family", SAVED)
def test_saved_family_is_served_and_survives_a_kill(family: str, tmp_path: Path) -> None:
    serve_and_kill(save_family(tmp_path / "model", family), tmp_path)


def test_gguf_file_of_four_bits_is_served_and_survives_a_kill(tmp_path: Path) -> None:
    serve_and_kill(write_block_gguf(tmp_path / "model-Q4_K_M.gguf", MIXES["Q4_K_M"]), tmp_path)


def serve_and_kill(model: Path, folder: Path) -> None:
    """Serve the model at `model`, and kill the server between an answer and its return."""
    redis = RedisServer(folder)
    flags = ("--model", str(model), "--cache-dir", str(default_cache_dir()), "--max-model-len", "512")
    try:
        with ebb_process(folder, *flags, "--redis-url", f"unix://{redis.socket}") as server:
            answer_returns_after_a_kill(server, redis, QUESTION, kept=3 * BLOCK)
            asyncio.run(chat_on_the_page(server.url))
    finally:
        redis.kill()
