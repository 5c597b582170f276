"""A saved model of each popular family, served as a user would: chats over the SDK that continue after `kill -9`."""

import urllib.request
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI

from tests.conftest import default_cache_dir
from tests.e2e.server_process import ebb_process
from tests.family_models import save_family
from tests.redis_server import RedisServer
from tests.tiny_gguf import write_block_gguf
from tests.waiting import until

SAVED = ("qwen3", "gemma3", "mistral, window", "llama 3", "phi3", "granite")
QUESTION = "The tides follow the moon, and the moon follows its path around the earth. " * 3
TOKENS = 80
LETTERS = {"structured_outputs": {"regex": f"[a-z ]{{{TOKENS}}}"}}
"""A form that makes the answers of random models texts, one byte a token."""
BLOCK = 64


@pytest.mark.parametrize("family", SAVED)
def test_saved_family_is_served_and_survives_a_kill(family: str, tmp_path: Path) -> None:
    answers_return_after_a_kill(save_family(tmp_path / "model", family), tmp_path)


def test_gguf_file_of_four_bits_is_served_and_survives_a_kill(tmp_path: Path) -> None:
    types = {"": "Q4_K", "attn_v": "Q6_K", "ffn_down": "Q6_K", "output": "Q6_K"}
    answers_return_after_a_kill(write_block_gguf(tmp_path / "model-Q4_K_M.gguf", types), tmp_path)


def answers_return_after_a_kill(model: Path, folder: Path) -> None:
    """Chat with the model at `model`, kill the server, and continue the chat from the blocks that Redis kept."""
    redis = RedisServer(folder)
    flags = ("--model", str(model), "--cache-dir", str(default_cache_dir()), "--max-model-len", "512")
    try:
        with ebb_process(folder, *flags, "--redis-url", f"unix://{redis.socket}") as server:
            messages = [{"role": "user", "content": QUESTION}]
            first, _ = streamed(server.url, messages)
            until(lambda: metric(server.url, "ebb_redis_pending_writes") == 0 and stored(redis) >= 3)
            server.kill()
            server.start()

            # The same prompt has the same answer, whose prompt comes from Redis.
            again, cached = streamed(server.url, messages)
            assert again == first
            assert cached >= 3 * BLOCK
            messages += [{"role": "assistant", "content": first}, {"role": "user", "content": "Go on."}]
            _, cached = streamed(server.url, messages)
            assert cached >= 4 * BLOCK
    finally:
        redis.kill()


def streamed(url: str, messages: list[Any]) -> tuple[str, int]:
    """Stream an answer of TOKENS tokens. Return its text, and the number of prompt tokens that were not computed."""
    with OpenAI(base_url=f"{url}/v1", api_key="none") as client:
        [model] = client.models.list()
        stream = client.chat.completions.create(
            model=model.id,
            messages=messages,
            stream=True,
            stream_options={"include_usage": True},
            temperature=0,
            max_tokens=TOKENS,
            extra_body=LETTERS,
        )
        *parts, last = stream
    assert last.usage is not None
    assert last.usage.completion_tokens == TOKENS
    assert last.usage.prompt_tokens_details is not None
    text = "".join(part.choices[0].delta.content or "" for part in parts)
    return text, last.usage.prompt_tokens_details.cached_tokens or 0


def metric(url: str, name: str) -> float:
    with urllib.request.urlopen(f"{url}/metrics", timeout=5) as response:
        [line] = [line for line in response.read().decode().splitlines() if line.startswith(f"{name} ")]
    return float(line.split()[1])


def stored(redis: RedisServer) -> int:
    """Count the values in Redis."""
    with redis.client() as client:
        return int(client.dbsize())
