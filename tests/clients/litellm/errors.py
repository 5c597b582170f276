"""LiteLLM's exceptions for Ebb's errors, and the fallbacks that they start."""

import json
import os
from collections.abc import Callable
from typing import Any

import litellm

URL, MODEL, KEY = os.environ["EBB_URL"], os.environ["EBB_MODEL"], os.environ["EBB_KEY"]
LIMITED_KEY, WINDOW = os.environ["EBB_LIMITED_KEY"], int(os.environ["EBB_WINDOW"])
OPENAI: dict[str, Any] = {"model": f"openai/{MODEL}", "api_base": f"{URL}/v1"}
ANTHROPIC: dict[str, Any] = {"model": f"anthropic/{MODEL}", "api_base": URL}
SHORT = [{"role": "user", "content": "hi"}]
LONG = [{"role": "user", "content": "river " * (WINDOW + 1)}]


def raised(call: Callable[[], Any]) -> str:
    """Return the name of the exception that a call raises."""
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return "none"


def errors_of(route: dict[str, Any]) -> dict[str, str]:
    def complete(**fields: Any) -> Callable[[], Any]:
        return lambda: litellm.completion(
            **{
                **route,
                "api_key": KEY,
                "messages": SHORT,
                "max_tokens": 4,
                "num_retries": 0,
                "max_retries": 0,
                **fields,
            }
        )

    other = route["model"].replace(MODEL, "another")
    return {
        "too long": raised(complete(messages=LONG)),
        "limited": raised(complete(api_key=LIMITED_KEY)),
        "wrong key": raised(complete(api_key="wrong")),
        "other model": raised(complete(model=other)),
        "wrong field": raised(complete(temperature=9)),
    }


def deployment(name: str, key: str, **fields: Any) -> dict[str, Any]:
    return {
        "model_name": name,
        "litellm_params": {**OPENAI, "api_key": key, "max_tokens": 4, "max_retries": 0, **fields},
    }


def fallback_reasons() -> dict[str, str]:
    """Let each request fail on one deployment and return the finish reason from the other."""
    router = litellm.Router(
        model_list=[
            deployment("small", KEY),
            deployment("limited", LIMITED_KEY),
            deployment("large", KEY, truncate_prompt_tokens=-1),
        ],
        context_window_fallbacks=[{"small": ["large"]}],
        fallbacks=[{"limited": ["large"]}],
        num_retries=0,
    )
    return {
        name: router.completion(model=name, messages=messages).choices[0].finish_reason
        for name, messages in (("small", LONG), ("limited", SHORT))
    }


print(
    json.dumps(
        {
            "openai": errors_of(OPENAI),
            "anthropic": errors_of(ANTHROPIC),
            "fallbacks": fallback_reasons(),
        }
    )
)
