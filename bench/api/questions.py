"""The two measured requests: a chat completion, and a message of a conversation."""

from bench.api.stream_reader import Address
from engine.testing.replay_engine import MODEL

QUESTION = "What is the difference between spring tides and neap tides, and when do they come?"


def chat_request(address: Address, tokens: int) -> bytes:
    """Build a streamed chat completion request whose answer has exactly `tokens` tokens."""
    messages = [{"role": "user", "content": QUESTION}]
    how = {"stream": True, "max_tokens": tokens, "ignore_eos": True}
    return address.post("/v1/chat/completions", {"model": MODEL, "messages": messages, **how})


def message_request(address: Address, conversation_id: str, tokens: int) -> bytes:
    """Build the same request as a message, which is answered by a run."""
    params = {"max_tokens": tokens, "ignore_eos": True}
    return address.post(f"/api/conversations/{conversation_id}/messages", {"content": QUESTION, "params": params})
