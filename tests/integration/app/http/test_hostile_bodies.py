"""Request bodies of a hostile client: each is refused, naming the field if there is one."""

import io
import json
from typing import Any

import aiohttp
import pytest

MESSAGES = [{"role": "user", "content": "hi"}]
BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": MESSAGES, "max_tokens": 5},
    "/v1/completions": {"prompt": "hi", "max_tokens": 5},
    "/v1/responses": {"input": "hi", "max_output_tokens": 5},
    "/v1/messages": {"messages": MESSAGES, "max_tokens": 5},
}
NUMBERS = ("temperature", "top_p", "top_k", "seed")
MARK = '"MARK"'
OF_THE_WHOLE = ("not valid JSON", "The body is larger", "does not exist")
DEEP = "[" * 10_000 + "]" * 10_000


async def refusal(http: aiohttp.ClientSession, path: str, field: str, value: str) -> tuple[int, str]:
    """Send a body with one field replaced, and return status and text of the response.

    value: the field's raw text in the body, which need not be JSON.
    """
    body = json.dumps({"model": "fake-1", **BODIES[path], field: "MARK"}).replace(MARK, value)
    response = await http.post(path, data=io.BytesIO(body.encode()))
    return response.status, await response.text()


@pytest.mark.parametrize("path", BODIES)
async def test_invalid_and_huge_numbers_are_refused(http: aiohttp.ClientSession, path: str) -> None:
    limit = "max_output_tokens" if path == "/v1/responses" else "max_tokens"
    for field in (*NUMBERS, limit):
        for value in ("NaN", "-Infinity", "1e309", "1" + "0" * 400, '"1"', "true", "[]", DEEP):
            status, told = await refusal(http, path, field, value)
            assert status == 400, (field, value[:20], told)
            assert field in told or "not valid JSON" in told, (field, value[:20], told)
    for number in (-2, 0.5, 2**31 + 1):
        status, told = await refusal(http, path, limit, json.dumps(number))
        assert (status, limit in told) == (400, True), (number, told)


@pytest.mark.parametrize("path", BODIES)
async def test_invalid_texts_are_refused(http: aiohttp.ClientSession, path: str) -> None:
    fields = [name for name in ("messages", "prompt", "input") if name in BODIES[path]]
    for field in ("model", *fields):
        for value in (
            r'"\ud800"',
            '"\x00\x01"',
            DEEP,
            "{}",
            '{"role": "user", "content": "\\udfff"}',
            '"' + "x" * 10**7,
        ):
            status, told = await refusal(http, path, field, value)
            assert 400 <= status < 500, (field, value[:20], told)
            assert any(words in told for words in (field, *OF_THE_WHOLE)), (field, value[:20], told)


@pytest.mark.parametrize(
    ("depth", "code"), [(201, "invalid_json"), (60_000, "invalid_json"), (100_000, "body_too_complex")]
)
async def test_deeply_nested_json_is_refused(http: aiohttp.ClientSession, depth: int, code: str) -> None:
    body = b'{"model": ' + b"[" * depth + b"]" * depth + b"}"
    async with http.post("/v1/completions", data=io.BytesIO(body)) as response:
        assert response.status == 400
        assert (await response.json())["error"]["code"] == code


async def test_number_with_a_million_digits_is_refused_at_once(http: aiohttp.ClientSession) -> None:
    body = b'{"model": "fake-1", "prompt": "x", "seed": ' + b"9" * 1_000_000 + b"}"
    async with http.post("/v1/completions", data=io.BytesIO(body)) as response:
        assert response.status == 400
