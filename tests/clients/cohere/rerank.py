"""Rerank through both versions of Cohere's client, and its exceptions for Ebb's errors."""

import json
import os
from collections.abc import Callable
from typing import Any

import cohere

URL, MODEL, KEY = os.environ["EBB_URL"], os.environ["EBB_MODEL"], os.environ["EBB_KEY"]
LIMITED_KEY = os.environ["EBB_LIMITED_KEY"]
ASKED: dict[str, Any] = {
    "model": MODEL,
    "query": "What is the capital of France?",
    "documents": ["Paris is the capital of France.", "Bread is made of flour.", "Rivers run to the sea. " * 60],
}


def client(key: str = KEY) -> cohere.ClientV2:
    return cohere.ClientV2(api_key=key, base_url=URL)


def raised(call: Callable[[], Any]) -> str:
    """Return the name of the exception that a call raises."""
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return "none"


second = client().rerank(**ASKED)
cut = client().rerank(**ASKED, top_n=2, max_tokens_per_doc=20)
first = cohere.Client(api_key=KEY, base_url=URL).rerank(**ASKED, return_documents=True)
print(
    json.dumps(
        {
            "second": [[each.index, each.relevance_score] for each in second.results],
            "version": second.meta.api_version.version,
            "tokens": second.meta.tokens.input_tokens,
            "cut": [each.index for each in cut.results],
            "cut tokens": cut.meta.tokens.input_tokens,
            "first": [[each.index, each.document.text] for each in first.results],
            "errors": {
                "no documents": raised(lambda: client().rerank(**{**ASKED, "documents": []})),
                "other model": raised(lambda: client().rerank(**{**ASKED, "model": "another"})),
                "limited": raised(lambda: client(LIMITED_KEY).rerank(**ASKED, request_options={"max_retries": 0})),
                "wrong key": raised(lambda: client("wrong").rerank(**ASKED)),
            },
        }
    )
)
