"""Addresses without a page: browsers get the page's own view, clients of an API get JSON."""

from pathlib import Path

from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import api_client, running_server

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8", "Sec-Fetch-Mode": "navigate"}
CLIENTS: tuple[dict[str, str], ...] = ({}, {"Accept": "application/json"}, {**BROWSER, "Sec-Fetch-Mode": "cors"})


async def test_browser_gets_the_page_and_clients_get_json(tmp_path: Path) -> None:
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "index.html").write_text("<!doctype html><title>Ebb</title>")
    async with running_server(tmp_path, ReplayEngine(), auth_policy="always") as server, api_client(server.url) as http:
        _, key = await server.services.access.administration.create_key("alice", "alice", "user")
        for path in ("/nowhere", "/nowhere/at/all", "/nowhere.php", "/tokenizer_info"):
            page = await http.get(path, headers=BROWSER)
            assert (page.status, page.content_type) == (404, "text/html"), path
            assert "<title>Ebb</title>" in await page.text()
            assert page.headers["Content-Security-Policy"]
            for headers in CLIENTS:
                answer = await http.get(path, headers=headers | {"X-Api-Key": key})
                assert answer.content_type == "application/json", (path, headers)
                assert str(tmp_path) not in await answer.text()
        for path in ("/api/nowhere", "/v1/nowhere", "/api/conversations"):
            assert (await http.get(path, headers=BROWSER)).content_type == "application/json", path
        assert (await http.post("/nowhere", headers=BROWSER)).content_type == "application/json"


async def test_unbuilt_page_leaves_the_error(tmp_path: Path) -> None:
    async with running_server(tmp_path, ReplayEngine()) as server, api_client(server.url) as http:
        assert (await http.get("/nowhere", headers=BROWSER)).content_type == "application/json"
