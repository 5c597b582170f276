"""The two requests that are measured: a chat completion, and a message of a conversation."""

from bench.api.replay_engine import MODEL
from bench.api.stream_reader import Address

QUESTION = "What is the difference between spring tides and neap tides, and when do they come?"


def chat_request(address: Address, tokens: int) -> bytes:
    """Streamed, with an answer of so many tokens."""
    messages = [{"role": "user", "content": QUESTION}]
    how = {"stream": True, "max_tokens": tokens, "ignore_eos": True}
    return address.post("/v1/chat/completions", {"model": MODEL, "messages": messages, **how})


def message_request(address: Address, conversation_id: str, tokens: int) -> bytes:
    """The same as a run."""
    params = {"max_tokens": tokens, "ignore_eos": True}
    return address.post(f"/api/conversations/{conversation_id}/messages", {"content": QUESTION, "params": params})
