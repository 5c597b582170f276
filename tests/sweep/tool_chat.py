"""Tool calls over the SDK in the syntax of a model's family, and the turn after their results."""

import json
import re
import urllib.request
from dataclasses import dataclass
from typing import Any, Final

from openai import OpenAI

from tests.family_folders import FamilyFolder

BLOCK: Final = 64
RESULT: Final = "SUN"
DAYS: Final[dict[str, Any]] = {"city": {"enum": ["Paris", "Rome"]}, "days": {"type": "integer", "enum": [1, 2, 3]}}
NOTE: Final[dict[str, Any]] = {"text": {"type": "string", "minLength": 1, "maxLength": 12}}


def _tool(name: str, properties: dict[str, Any]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


TOOLS: Final = [_tool("note", NOTE), _tool("forecast", DAYS)]
NAMED: Final = {"type": "function", "function": {"name": "forecast"}}
WAYS: Final[tuple[tuple[str, Any, str], ...]] = (
    ("Which days are dry?", "required", "tool_calls"),
    ("Which days are wet?", NAMED, "stop"),
)
"""A question for each way to require a call, with the reason of the end. The ids of equal conversations are shared."""


@dataclass(frozen=True, slots=True)
class Called:
    """An answer with one call. prompt, ids: token ids of its prompt, and of the answer itself."""

    prompt: list[int]
    ids: list[int]
    name: str
    arguments: str
    reason: str


def family_calls_its_tools(url: str, family: FamilyFolder) -> None:
    """Require a call of any function and of a named one, whole and streamed, and send each result back."""
    with OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        [model] = client.models.list()
        asked: dict[str, Any] = {
            "model": model.id,
            "tools": TOOLS,
            "temperature": 0,
            "max_tokens": 300,
            "parallel_tool_calls": False,
            "logit_bias": {str(id_): -100 for id_ in unwanted_ids(url, family)},
            "extra_body": {"return_token_ids": True},
        }
        for question, choice, reason in WAYS:
            said: list[dict[str, Any]] = [{"role": "user", "content": question}]
            required = asked | {"messages": said, "tool_choice": choice}
            whole = _whole(client, required)
            assert whole == _streamed(client, required)
            assert whole.reason == reason
            assert whole.name == "forecast" or choice == "required"
            match = _check_call(url, family, whole)
            said += _with_result(whole)
            after = client.chat.completions.create(**asked | {"messages": said, "max_tokens": 4})
            assert after.usage.prompt_tokens_details.cached_tokens >= len(whole.prompt) // BLOCK * BLOCK
            _check_next_prompt(url, family, after.to_dict()["prompt_token_ids"], whole, match)


def unwanted_ids(url: str, family: FamilyFolder) -> list[int]:
    """Return the ids that a random model must not choose: reasoning, which would never end, and unusual ends."""
    text = family.reasoning + "".join(family.ends[1:])
    ids: list[int] = _post(url, "/tokenize", {"prompt": text, "add_special_tokens": False})["tokens"]
    return ids


def _whole(client: OpenAI, asked: dict[str, Any]) -> Called:
    answer = client.chat.completions.create(**asked)
    [choice] = answer.choices
    [call] = choice.message.tool_calls or []
    assert not choice.message.content
    prompt, ids = answer.to_dict()["prompt_token_ids"], choice.to_dict()["token_ids"]
    return Called(prompt, ids, call.function.name, call.function.arguments, choice.finish_reason)


def _streamed(client: OpenAI, asked: dict[str, Any]) -> Called:
    prompt, ids, names, pieces, reasons = list[int](), list[int](), list[str](), list[str](), list[str]()
    for chunk in client.chat.completions.create(**asked, stream=True):
        [choice] = chunk.choices
        prompt += chunk.to_dict().get("prompt_token_ids") or []
        ids += choice.to_dict().get("token_ids") or []
        assert not choice.delta.content
        for part in choice.delta.tool_calls or ():
            assert part.index == 0
            names += [part.function.name] if part.function.name else []
            pieces.append(part.function.arguments or "")
        reasons += [choice.finish_reason] if choice.finish_reason else []
    assert len(pieces) > 2, "the arguments came in one piece"
    [name], [reason] = names, reasons
    return Called(prompt, ids, name, "".join(pieces), reason)


def _check_call(url: str, family: FamilyFolder, called: Called) -> re.Match[str]:
    """Assert that an answer is a call as the family writes it, with arguments of the function's schema."""
    text = _describe(url, called.ids)
    match = family.read_call(text)
    assert match is not None, text
    arguments = json.loads(called.arguments)
    assert (match["name"], json.loads(match["arguments"])) == (called.name, arguments)
    if called.name == "note":
        assert [*arguments] == ["text"]
        assert 1 <= len(arguments["text"]) <= 12
    else:
        assert [*arguments] == ["city", "days"]
        assert arguments["city"] in DAYS["city"]["enum"]
        assert arguments["days"] in (1, 2, 3)
    return match


def _with_result(called: Called) -> list[dict[str, Any]]:
    """Return the messages of a call and its result, as a client sends them back."""
    function = {"name": called.name, "arguments": called.arguments}
    call = {"id": "call_of_client", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_of_client", "content": RESULT},
    ]


def _check_next_prompt(url: str, family: FamilyFolder, prompt: list[int], called: Called, match: re.Match[str]) -> None:
    """Assert that a prompt is the one before, its exact answer, and the result as the family writes it."""
    before = called.prompt + called.ids
    assert prompt[: len(before)] == before
    result = family.result.replace("%RESULT%", RESULT).replace("%ID%", match.groupdict().get("id") or "")
    whole = _describe(url, called.prompt) + match[0].removesuffix(family.ends[0]) + result
    assert _describe(url, prompt) == whole


def _describe(url: str, ids: list[int]) -> str:
    text: str = _post(url, "/detokenize", {"tokens": ids})["prompt"]
    return text


def _post(url: str, path: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as response:
        return json.load(response)
