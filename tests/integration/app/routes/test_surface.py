"""Behaviour that all routes share: limits, guards, headers, health and the web page."""

import gzip
import io
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.domain.bounds import MAX_BODY_BYTES
from engine.executor.workers import WorkersState
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer, api_client, running_server

Api = RunningServer[ReplayEngine]


@pytest.mark.parametrize("size", [MAX_BODY_BYTES + 1, 64 << 20])
@pytest.mark.parametrize("announced", [True, False])
async def test_oversized_body_is_refused(http: aiohttp.ClientSession, announced: bool, size: int) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, size, 1 << 16):
            yield bytes(min(1 << 16, size - start))

    response = await http.post("/v1/completions", data=io.BytesIO(bytes(size)) if announced else chunks())
    assert response.status == 413
    assert (await response.json())["error"]["code"] == "body_too_large"


async def test_unknown_path_and_wrong_method_share_the_error_shape(
    http: aiohttp.ClientSession,
) -> None:
    for method, path, status in (
        ("GET", "/v1/nothing", 404),
        ("GET", "/v1/chat/completions", 405),
        ("PUT", "/api/conversations", 405),
        ("DELETE", "/health", 405),
    ):
        response = await http.request(method, path)
        assert response.status == status, path
        assert set((await response.json())["error"]) == {"message", "type", "param", "code"}


async def test_loopback_server_refuses_foreign_host_names(http: aiohttp.ClientSession, api: Api) -> None:
    port = api.url.rpartition(":")[2]
    for name, status in (
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost", 200),
        (f"localhost:{port}", 200),
        ("[::1]:80", 200),
        ("ebb.localhost", 200),
    ):
        assert (await http.get("/health", headers={"Host": name})).status == status, name


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 201),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Origin": "SELF"}, 201),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 201),
    ],
)
async def test_page_of_another_origin_cannot_change_conversations(
    http: aiohttp.ClientSession, api: Api, headers: dict[str, str], status: int
) -> None:
    sent = {name: api.url if value == "SELF" else value for name, value in headers.items()}
    assert (await http.post("/api/conversations", json={}, headers=sent)).status == status


async def test_starting_server_reports_progress_and_refuses_work(tmp_path: Path) -> None:
    async with (
        running_server(tmp_path, ReplayEngine(), ready=False) as server,
        api_client(server.url) as http,
    ):
        server.services.model.host.report("Loading the model")
        health = await http.get("/health")
        assert health.status == 200
        body = await health.json()
        assert (body["status"], body["starting"], body["model"]) == ("starting", "Loading the model", None)
        assert (await http.get("/ready")).status == 503
        assert (await http.get("/")).status == 200
        assert (await http.get("/metrics")).status == 200
        assert (await http.get("/api/conversations")).status == 200
        for path in ("/v1/chat/completions", "/v1/completions"):
            refused = await http.post(path, json={})
            assert refused.status == 503
            assert int(refused.headers["Retry-After"]) >= 1
            assert "Loading the model" in (await refused.json())["error"]["message"]
        assert (await http.get("/v1/models")).status == 503


async def test_health_reports_the_model_and_each_tier(http: aiohttp.ClientSession) -> None:
    body = await (await http.get("/health")).json()
    assert body["status"] == "ok"
    assert body["model"] == {
        "name": "fake-1",
        "dtype": "bfloat16",
        "device": "cpu",
        "device_note": None,
        "max_model_len": 4096,
        "sampling": {"temperature": 0.2, "top_p": 0.9},
        "thinking": [],
    }
    assert body["tiers"]["device"] == {"used_bytes": 20_000, "capacity_bytes": 100_000, "state": "ok"}
    assert body["tiers"]["redis"]["state"] == "off"
    assert body["unindexed"] == 0
    assert body["suggested_model"] is None
    assert (await http.get("/ready")).status == 200


async def test_reasons_in_health_name_no_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ReplayEngine()
    engine.config = engine.config.with_fields(note="cuda failed: /opt/npu/lib/driver.so is missing.")
    async with running_server(tmp_path, engine) as server, api_client(server.url) as http:

        async def health() -> Any:
            return await (await http.get("/health")).json()

        assert (await health())["model"]["device_note"] == "cuda failed: driver.so is missing."
        lost = WorkersState("starting", (7,), restarts=1, last_loss="rank 0: [Errno 2] '/srv/models/tide.bin'")
        stats = replace(engine.stats(), workers=lost)
        monkeypatch.setattr(engine, "stats", lambda: stats)
        recovering = await health()
        assert recovering["status"] == "recovering"
        assert recovering["reason"].endswith("are being restarted: rank 0: [Errno 2] 'tide.bin'")
        assert recovering["workers"]["last_loss"] == "rank 0: [Errno 2] 'tide.bin'"
        engine.give_up("/srv/models/tide.bin is gone")
        assert (await health())["reason"].endswith("is restarting: tide.bin is gone")


async def test_metrics_count_in_prometheus_format(http: aiohttp.ClientSession) -> None:
    await http.post("/v1/completions", json={"model": "fake-1", "prompt": "x", "max_tokens": 5})
    response = await http.get("/metrics")
    assert response.headers["Content-Type"].startswith("text/plain")
    families = {family.name: family for family in text_string_to_metric_families(await response.text())}
    [generated] = families["ebb_generation_tokens"].samples
    assert generated.value == 5
    ttft = {sample.labels.get("le"): sample.value for sample in families["ebb_ttft_seconds"].samples}
    assert ttft["0.003"] == 0
    assert ttft["0.01"] == ttft["+Inf"] == 1
    answered = {(s.labels["method"], s.labels["status"]): s.value for s in families["ebb_http_responses"].samples}
    assert answered["POST", "200"] == 1
    finished = {sample.labels["reason"]: sample.value for sample in families["ebb_requests_finished"].samples}
    assert finished == {"length": 1}
    states = {sample.labels["state"] for sample in families["ebb_requests"].samples}
    assert states == {"running", "waiting", "preempted", "loading", "following"}
    waited = {s.labels["outcome"]: s.value for s in families["ebb_queue_seconds"].samples if s.name.endswith("_count")}
    assert waited == {"served": 1}
    checks = {sample.labels["outcome"]: sample.value for sample in families["ebb_self_checks"].samples}
    assert checks == {"clean": 3, "failed": 0}


async def test_page_not_built_shows_how_to_build_it(http: aiohttp.ClientSession) -> None:
    for path in ("/", "/c/conv_1"):
        response = await http.get(path)
        assert response.status == 200
        assert "make" in await response.text()


async def test_page_is_revalidated_and_its_assets_are_immutable(tmp_path: Path) -> None:
    static = tmp_path / "static"
    (static / "assets").mkdir(parents=True)
    (static / "index.html").write_text("<title>Ebb</title>")
    (static / "favicon.svg").write_text("<svg/>")
    (static / "assets" / "main-1a2b.js").write_text("1")
    async with running_server(tmp_path, ReplayEngine()) as server, api_client(server.url) as http:
        for path in ("/", "/c/conv_1"):
            page = await http.get(path)
            assert await page.text() == "<title>Ebb</title>"
            assert page.headers["Cache-Control"] == "no-cache"
            assert page.headers.getall("Content-Security-Policy") == [
                "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; "
                "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
            ]
            assert page.headers["X-Content-Type-Options"] == "nosniff"
        script = await http.get("/assets/main-1a2b.js")
        assert script.content_type == "text/javascript"
        assert "immutable" in script.headers["Cache-Control"]
        assert (await http.get("/favicon.svg")).content_type == "image/svg+xml"
        assert (await http.get("/" + "a" * 300)).status == 404
        missing = await http.get("/assets/other.js")
        assert missing.status == 404
        assert "immutable" not in missing.headers.get("Cache-Control", "")
        assert (await http.get("/assets/..%2f..%2fconversations.db")).status == 404


async def test_preview_document_is_sandboxed_without_network(tmp_path: Path) -> None:
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "preview.html").write_text("<title>Preview</title>")
    async with running_server(tmp_path, ReplayEngine()) as server, api_client(server.url) as http:
        preview = await http.get("/preview.html")
        policy = preview.headers.getall("Content-Security-Policy")
        assert len(policy) == 1
        rules = dict(rule.strip().partition(" ")[::2] for rule in policy[0].split(";"))
        assert rules["sandbox"] == "allow-scripts"
        assert rules["default-src"] == "'none'"
        assert rules["frame-ancestors"] == "'self'"
        addresses = {source for name, value in rules.items() if name.endswith("-src") for source in value.split()}
        assert addresses <= {"'none'", "'unsafe-inline'", "data:", "blob:"}


async def test_scripts_are_sent_gzipped_if_accepted(tmp_path: Path) -> None:
    assets = tmp_path / "static" / "assets"
    assets.mkdir(parents=True)
    for name in ("main-1a2b.js", "old-1a2b.js"):
        (assets / name).write_text("let a = 1;" * 100)
    (assets / "main-1a2b.js.gz").write_bytes(gzip.compress((assets / "main-1a2b.js").read_bytes()))
    async with running_server(tmp_path, ReplayEngine()) as server, api_client(server.url) as http:
        for name, accepted, encoding in (
            ("main", "gzip, deflate", "gzip"),
            ("main", "br;q=1.0, gzip;q=0.5", "gzip"),
            ("main", "identity", None),
            ("main", "gzip;q=0", None),
            ("old", "gzip", None),
        ):
            script = await http.get(f"/assets/{name}-1a2b.js", headers={"Accept-Encoding": accepted})
            assert script.headers.get("Content-Encoding") == encoding
            assert script.content_type == "text/javascript"
            assert "immutable" in script.headers["Cache-Control"]
            assert await script.text() == "let a = 1;" * 100
