"""Chats through LiteLLM: its routes to a server of OpenAI's, Anthropic's and Ollama's API, whole and streamed."""

import json
import math
import os
from typing import Any

import litellm

URL, MODEL, KEY = os.environ["EBB_URL"], os.environ["EBB_MODEL"], os.environ["EBB_KEY"]
ROUTES: dict[str, dict[str, Any]] = {
    "openai": {"model": f"openai/{MODEL}", "api_base": f"{URL}/v1"},
    "hosted_vllm": {"model": f"hosted_vllm/{MODEL}", "api_base": f"{URL}/v1"},
    "anthropic": {"model": f"anthropic/{MODEL}", "api_base": URL},
    "ollama_chat": {"model": f"ollama_chat/{MODEL}", "api_base": URL},
}
NEXT = {"role": "user", "content": "And what is the longest one?"}


def figures(response: Any) -> dict[str, Any]:
    usage = response.usage
    details = usage.prompt_tokens_details
    return {
        "text": response.choices[0].message.content,
        "reason": response.choices[0].finish_reason,
        "total": usage.total_tokens,
        "prompt": usage.prompt_tokens,
        "cached": details.cached_tokens if details is not None else None,
        "message": sorted(response.choices[0].message.model_dump()),
    }


def conversation(route: str, stream: bool) -> list[dict[str, Any]]:
    """Hold two turns, sending the first answer back as LiteLLM returned it."""
    fields = {**ROUTES[route], "api_key": KEY, "max_tokens": 16, "temperature": 0}
    cached = {"type": "text", "text": f"Answer briefly, {route} {stream}.", "cache_control": {"type": "ephemeral"}}
    messages: list[Any] = [
        {"role": "system", "content": [cached]},
        {"role": "user", "content": "Tell me about rivers, please."},
    ]
    turns = []
    for _ in range(2):
        if stream:
            chunks = list(
                litellm.completion(messages=messages, stream=True, stream_options={"include_usage": True}, **fields)
            )
            response = litellm.stream_chunk_builder(chunks, messages=messages)
        else:
            response = litellm.completion(messages=messages, **fields)
        turns.append(figures(response))
        messages += [response.choices[0].message, NEXT]
    return turns


def responses() -> list[dict[str, Any]]:
    """Hold two turns over the Responses API, the second one by the id of the first."""
    fields = {**ROUTES["openai"], "api_key": KEY, "max_output_tokens": 16, "temperature": 0}
    first = litellm.responses(input="Tell me about lakes, please.", **fields)
    second = litellm.responses(input="And the deepest?", previous_response_id=first.id, **fields)
    events = [event.type for event in litellm.responses(input="And the sea?", stream=True, **fields)]
    return [
        {
            "total": each.usage.total_tokens,
            "cached": each.usage.input_tokens_details.cached_tokens,
            "status": each.status,
        }
        for each in (first, second)
    ] + [{"last": events[-1]}]


completed = litellm.text_completion(
    model=f"text-completion-openai/{MODEL}", api_base=f"{URL}/v1", api_key=KEY, prompt="The sea is", max_tokens=4
)
embedded = litellm.embedding(
    model=f"openai/{MODEL}", api_base=f"{URL}/v1", api_key=KEY, input=["sea", "river"], encoding_format="float"
)
print(
    json.dumps(
        {
            "whole": {route: conversation(route, stream=False) for route in ROUTES},
            "streamed": {route: conversation(route, stream=True) for route in ROUTES},
            "responses": responses(),
            "lengths": [math.hypot(*each["embedding"]) for each in embedded.data],
            "completion": {"text": completed.choices[0].text, "reason": completed.choices[0].finish_reason},
        }
    )
)
