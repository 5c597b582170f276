"""Chats over the SDK with a server in a separate process, and the return of their KV after `kill -9`."""

import urllib.request
from collections.abc import Sequence
from typing import Any

from openai import OpenAI

from tests.e2e.server_process import ServerProcess
from tests.redis_server import RedisServer
from tests.waiting import until

TOKENS = 80
LETTERS = {"structured_outputs": {"regex": f"[a-z ]{{{TOKENS}}}"}}
"""A form that makes the answers of random models texts, one byte a token."""


def answer_returns_after_a_kill(
    server: ServerProcess,
    redis: RedisServer,
    question: str,
    *,
    kept: int,
    temperature: float = 0,
    unwanted: Sequence[int] = (),
) -> None:
    """Ask a question, kill and restart the server, and continue the chat from the blocks that Redis kept.

    kept: fewest tokens of the question's prompt that come from Redis, in whole blocks.
    unwanted: tokens that no answer may have.
    """
    messages = [{"role": "user", "content": question}]
    before = stored(redis)
    first, _ = streamed(server.url, messages, temperature, unwanted)
    until(lambda: metric(server.url, "ebb_redis_pending_writes") == 0 and stored(redis) >= before + 3)
    server.kill()
    server.start()

    # The same prompt has the same answer, whose prompt comes from Redis.
    again, cached = streamed(server.url, messages, temperature, unwanted)
    assert again == first
    assert cached >= kept
    assert found(server.url, "redis") == cached
    messages += [{"role": "assistant", "content": first}, {"role": "user", "content": "Go on."}]
    _, later = streamed(server.url, messages, temperature, unwanted)
    assert later > cached


def streamed(url: str, messages: list[Any], temperature: float = 0, unwanted: Sequence[int] = ()) -> tuple[str, int]:
    """Stream an answer of TOKENS tokens. Return its text, and the number of prompt tokens that were not computed.

    The likeliest tokens of a small random model may be the same after any prompt. With `temperature` 1 the seed draws
    the same text only if the probabilities are the same.
    """
    with OpenAI(base_url=f"{url}/v1", api_key="none") as client:
        [model] = client.models.list()
        stream = client.chat.completions.create(
            model=model.id,
            messages=messages,
            stream=True,
            stream_options={"include_usage": True},
            temperature=temperature,
            top_p=1,
            seed=1,
            max_tokens=TOKENS,
            logit_bias={str(id_): -100 for id_ in unwanted},
            extra_body=LETTERS,
        )
        *parts, last = stream
    assert last.usage is not None
    assert last.usage.completion_tokens == TOKENS
    assert last.usage.prompt_tokens_details is not None
    text = "".join(part.choices[0].delta.content or "" for part in parts)
    return text, last.usage.prompt_tokens_details.cached_tokens or 0


def found(url: str, tier: str) -> int:
    """Return the number of prompt tokens that came from `tier` since the server's start."""
    return int(metric(url, f'ebb_tier_found_tokens_total{{tier="{tier}"}}'))


def metric(url: str, name: str) -> float:
    """Return the value of a metric, which `name` names with its labels."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=5) as response:
        [line] = [line for line in response.read().decode().splitlines() if line.startswith(f"{name} ")]
    return float(line.split()[1])


def stored(redis: RedisServer) -> int:
    """Count the values in Redis."""
    with redis.client() as client:
        return int(client.dbsize())
