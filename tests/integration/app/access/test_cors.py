"""Pages of other origins: refused unless their origin is allowed by name."""

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer, api_client, running_server

Api = RunningServer[ReplayEngine]
ALLOWED = "https://chat.example"
FOREIGN = "https://evil.example"
COMPLETION = {"model": "fake-1", "prompt": "x"}
PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}


@pytest.fixture
async def open_http(tmp_path: Path) -> AsyncIterator[aiohttp.ClientSession]:
    """Client of a server that allows the origin ALLOWED."""
    async with (
        running_server(tmp_path, ReplayEngine(), cors_origins=(ALLOWED,)) as server,
        api_client(server.url) as http,
    ):
        yield http


def granted(response: aiohttp.ClientResponse) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name.startswith("Access-Control-")}


async def test_other_origins_are_refused_by_default(http: aiohttp.ClientSession, api: Api) -> None:
    preflight = await http.options("/v1/completions", headers={"Origin": FOREIGN, **PREFLIGHT})
    assert preflight.status == 405
    read = await http.get("/v1/models", headers={"Origin": FOREIGN})
    assert granted(preflight) == granted(read) == {}


@pytest.mark.parametrize("headers", [{"Origin": FOREIGN}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}])
async def test_foreign_page_cannot_start_a_generation(
    http: aiohttp.ClientSession, api: Api, headers: dict[str, str]
) -> None:
    """Post as text/plain, which a browser sends to any origin without a preflight."""
    for path in ("/v1/completions", "/v1/chat/completions"):
        plain = {"Content-Type": "text/plain", **headers}
        refused = await http.post(path, data=b'{"model": "fake-1", "prompt": "x"}', headers=plain)
        assert refused.status == 403
        assert "--cors-origins" in (await refused.json())["error"]["message"]
    assert api.engine.requests == []


@pytest.mark.parametrize(
    "headers", [{"Origin": FOREIGN}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}]
)
async def test_foreign_page_cannot_read_the_api(http: aiohttp.ClientSession, headers: dict[str, str]) -> None:
    """Send requests as an image or a script tag does, without a preflight."""
    for path in ("/api/conversations", "/api/login", "/api/search?q=x", "/v1/models", "/metrics", "/api/nothing"):
        refused = await http.get(path, headers=headers)
        assert (refused.status, (await refused.json())["error"]["code"]) == (403, "forbidden"), path
    assert (await http.head("/api/conversations", headers=headers)).status == 403


@pytest.mark.parametrize("site", ["same-origin", "none"])
async def test_own_page_and_typed_address_can_read_the_api(http: aiohttp.ClientSession, site: str) -> None:
    assert (await http.get("/api/conversations", headers={"Sec-Fetch-Site": site})).status == 200


async def test_links_from_other_sites_open_the_page(http: aiohttp.ClientSession) -> None:
    for path in ("/", "/c/conv_1", "/health"):
        assert (await http.get(path, headers={"Sec-Fetch-Site": "cross-site"})).status == 200, path


async def test_request_without_browser_headers_is_allowed(http: aiohttp.ClientSession) -> None:
    assert (await http.post("/v1/completions", json=COMPLETION)).status == 200


async def test_allowed_origin_can_send_requests_and_read_responses(open_http: aiohttp.ClientSession) -> None:
    preflight = await open_http.options("/v1/completions", headers={"Origin": ALLOWED, **PREFLIGHT})
    assert preflight.status == 200
    assert preflight.headers["Access-Control-Allow-Origin"] == ALLOWED
    asked = {"Origin": ALLOWED, "Sec-Fetch-Site": "cross-site"}
    for response in (
        await open_http.post("/v1/completions", json=COMPLETION, headers=asked),
        await open_http.post("/v1/completions", json={}, headers=asked),
        await open_http.post("/api/conversations", json={}, headers=asked),
        await open_http.get("/v1/nothing", headers=asked),
    ):
        assert response.headers["Access-Control-Allow-Origin"] == ALLOWED
        assert "Origin" in response.headers["Vary"]
        assert "X-Request-Id" in response.headers["Access-Control-Expose-Headers"]
        assert "Access-Control-Allow-Credentials" not in response.headers
        assert response.status != 403


@pytest.mark.parametrize(
    "origin", [FOREIGN, "null", "http://chat.example", "https://chat.example:8443", "https://chat.example.evil.example"]
)
async def test_origins_other_than_the_allowed_one_are_refused(open_http: aiohttp.ClientSession, origin: str) -> None:
    preflight = await open_http.options("/v1/completions", headers={"Origin": origin, **PREFLIGHT})
    assert preflight.status == 400
    post = await open_http.post("/v1/completions", json=COMPLETION, headers={"Origin": origin})
    assert post.status == 403
    for response in (preflight, post, await open_http.get("/v1/models", headers={"Origin": origin})):
        assert "Access-Control-Allow-Origin" not in response.headers


OPENAI_NODE = (
    "authorization,content-type,openai-organization,openai-project,openai-beta,idempotency-key,x-stainless-arch,"
    "x-stainless-helper-method,x-stainless-lang,x-stainless-os,x-stainless-package-version,x-stainless-retry-count,"
    "x-stainless-runtime,x-stainless-runtime-version,x-stainless-timeout"
)
ANTHROPIC_NODE = (
    "anthropic-beta,anthropic-dangerous-direct-browser-access,anthropic-version,content-type,x-api-key,"
    "x-stainless-arch,x-stainless-lang,x-stainless-os,x-stainless-package-version,x-stainless-retry-count,"
    "x-stainless-runtime,x-stainless-runtime-version,x-stainless-timeout"
)


@pytest.mark.parametrize(
    ("path", "method", "headers"),
    [
        ("/v1/chat/completions", "POST", OPENAI_NODE),
        ("/v1/messages", "POST", ANTHROPIC_NODE),
        ("/api/conversations/conv_1", "PATCH", "authorization,content-type,if-match"),
        ("/api/drafts", "PUT", "authorization,content-type"),
        ("/v1/responses/resp_1", "DELETE", "authorization"),
    ],
)
async def test_preflights_of_official_clients_are_granted(
    open_http: aiohttp.ClientSession, path: str, method: str, headers: str
) -> None:
    asked = {"Access-Control-Request-Method": method, "Access-Control-Request-Headers": headers}
    granted = await open_http.options(path, headers={"Origin": ALLOWED, **asked})
    assert granted.status == 200, await granted.text()
    allowed = granted.headers["Access-Control-Allow-Headers"].replace(" ", "").lower().split(",")
    assert set(headers.split(",")) <= set(allowed)
    assert method in granted.headers["Access-Control-Allow-Methods"]


async def test_preflight_from_public_page_to_local_network_is_granted(open_http: aiohttp.ClientSession) -> None:
    asked = {"Origin": ALLOWED, "Access-Control-Request-Private-Network": "true", **PREFLIGHT}
    granted = await open_http.options("/v1/completions", headers=asked)
    assert (granted.status, granted.headers["Access-Control-Allow-Private-Network"]) == (200, "true")


async def test_etag_and_retry_after_are_exposed_to_allowed_pages(open_http: aiohttp.ClientSession) -> None:
    answer = await open_http.get("/api/conversations", headers={"Origin": ALLOWED, "Sec-Fetch-Site": "cross-site"})
    assert answer.status == 200
    exposed = answer.headers["Access-Control-Expose-Headers"].lower().split(", ")
    assert {"etag", "retry-after", "x-request-id", "request-id"} <= set(exposed)


async def test_malformed_origin_is_refused_without_a_fault(http: aiohttp.ClientSession) -> None:
    assert (await http.post("/v1/completions", json=COMPLETION, headers={"Origin": "http://["})).status == 403
