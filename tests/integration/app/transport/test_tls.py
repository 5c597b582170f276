"""TLS of the server: requests, certificate renewal and connections that never complete a handshake."""

import asyncio
import json
import os
import shutil
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import aiohttp
import pytest

from app.access.authentication import COOKIE
from app.client.chat_client import ChatClient, NoServerError
from app.config.settings import load_settings
from app.load.client import Generation, LoadClient
from app.transport import tls_door
from app.transport.connections import ConnectionLimits
from app.transport.tls import CertificateError, CertificateFiles, TlsContext, certificate_files, own_certificate
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.tls_files import TlsFiles, make_tls_files

FEW = ConnectionLimits(total=4, per_address=4)


@pytest.fixture
def made(tmp_path: Path) -> TlsFiles:
    return make_tls_files(tmp_path)


@pytest.fixture
def context(made: TlsFiles) -> TlsContext:
    return TlsContext(CertificateFiles(made.certificate, made.key))


@pytest.fixture
async def server(tmp_path: Path, context: TlsContext) -> AsyncIterator[RunningServer[ReplayEngine]]:
    async with running_server(tmp_path, ReplayEngine(), tls=context, limits=FEW) as server:
        yield server


def trust(made: TlsFiles) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=made.authority)


def renew(made: TlsFiles, folder: Path) -> TlsFiles:
    """Replace the certificate and key of `made` by new ones. Return the new files with their own authority."""
    folder.mkdir()
    new = make_tls_files(folder)
    for source, target in ((new.certificate, made.certificate), (new.key, made.key)):
        shutil.copy(source, source.with_suffix(".part"))
        os.replace(source.with_suffix(".part"), target)
    return new


async def status(server: RunningServer[ReplayEngine], made: TlsFiles) -> int:
    """Return the status of `/health`, requested over a new connection that trusts the authority of `made`."""
    async with api_client(server.url, tls=trust(made)) as http:
        return (await http.get("/health")).status


async def test_https_serves_pages_bodies_and_streams(server: RunningServer[ReplayEngine], made: TlsFiles) -> None:
    body = json.dumps({"model": "fake-1", "prompt": "x", "stream": True}) + " " * 100_000
    async with api_client(server.url, tls=trust(made)) as http:
        assert (await http.get("/api/conversations", headers={"Origin": server.url})).status == 200
        stream = await http.post("/v1/completions", data=body)
        assert (await stream.read()).rstrip().endswith(b"data: [DONE]")
        assert len(server.connections) == 1


async def test_login_over_tls_sets_secure_cookie(server: RunningServer[ReplayEngine], made: TlsFiles) -> None:
    _, key = await server.services.access.administration.create_key("alice", "alice", "user")
    async with api_client(server.url, tls=trust(made)) as http:
        login = await http.post("/api/login", json={"key": key})
        assert login.cookies[COOKIE]["secure"]
        assert (await http.get("/api/conversations")).status == 200


async def test_renewed_certificate_is_served_and_streams_continue(
    server: RunningServer[ReplayEngine], made: TlsFiles, context: TlsContext, tmp_path: Path
) -> None:
    before = shutil.copytree(tmp_path, tmp_path / "before", ignore=lambda *_: ["conversations.db"])
    old = TlsFiles(before / "ca.pem", before / "server.pem", before / "server.key")
    server.engine.hold()
    async with api_client(server.url, tls=trust(old)) as http:
        stream = await http.post("/v1/completions", json={"model": "fake-1", "prompt": "x", "stream": True})
        new = renew(made, tmp_path / "new")
        context.refresh()
        assert await status(server, new) == 200
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await status(server, old)
        server.engine.allow(None)
        assert (await stream.read()).rstrip().endswith(b"data: [DONE]")


async def test_half_a_renewal_keeps_previous_certificate(
    server: RunningServer[ReplayEngine],
    made: TlsFiles,
    context: TlsContext,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    key = made.key.read_bytes()
    new = renew(made, tmp_path / "new")
    renewed = made.key.read_bytes()
    made.key.write_bytes(key)
    for _ in range(2):
        context.refresh()
    [warning] = [record.getMessage() for record in caplog.records if record.name == "app.transport.tls"]
    assert "do not match" in warning
    assert await status(server, made) == 200
    made.key.write_bytes(renewed)
    context.refresh()
    assert await status(server, new) == 200


async def test_deleted_certificate_stays_in_use(
    server: RunningServer[ReplayEngine], made: TlsFiles, context: TlsContext
) -> None:
    made.certificate.unlink()
    context.refresh()
    assert await status(server, made) == 200


async def test_watched_files_are_reloaded_automatically(made: TlsFiles, tmp_path: Path) -> None:
    context = TlsContext(CertificateFiles(made.certificate, made.key), check_seconds=0.01)
    context.begin()
    async with running_server(tmp_path, ReplayEngine(), tls=context) as server:
        new = renew(made, tmp_path / "new")
        async with asyncio.timeout(20):
            while True:
                try:
                    assert await status(server, new) == 200
                    break
                except aiohttp.ClientConnectorCertificateError:
                    continue
    await context.stop()


@pytest.mark.parametrize("sent", [b"", b"\x16\x03", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"])
async def test_connections_without_handshake_give_way(
    server: RunningServer[ReplayEngine], made: TlsFiles, sent: bytes
) -> None:
    port = int(server.url.rpartition(":")[2])
    writers = []
    for _ in range(30):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        writers.append(writer)
    assert await status(server, made) == 200
    assert len(server.connections) <= FEW.total
    for writer in writers:
        writer.transport.abort()


async def test_handshake_timeout_closes_connection(
    monkeypatch: pytest.MonkeyPatch, server: RunningServer[ReplayEngine]
) -> None:
    monkeypatch.setattr(tls_door, "HEAD_SECONDS", 0.1)
    reader, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
    async with asyncio.timeout(20):
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
    writer.close()
    assert len(server.connections) == 0


def test_unusable_certificate_error_names_the_file(made: TlsFiles, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    text = tmp_path / "text.pem"
    text.write_text("no certificate")
    for certificate, key, words in (
        (made.certificate, make_tls_files(other).key, "do not match"),
        (text, made.key, "are not a certificate and its key in PEM"),
        (tmp_path / "none.pem", made.key, f"--tls-certificate {tmp_path / 'none.pem'}: No such file"),
        (made.certificate, tmp_path / "none.key", f"--tls-key {tmp_path / 'none.key'}: No such file"),
    ):
        with pytest.raises(CertificateError) as caught:
            CertificateFiles(certificate, key).load()
        assert words in caught.value.message


async def test_local_commands_trust_own_certificate(
    server: RunningServer[ReplayEngine], made: TlsFiles, tmp_path: Path
) -> None:
    """Connect by IP address, which the certificate does not name, as `ebb chat` and `ebb bench` do."""
    here = {"state-dir": str(tmp_path), "cache-dir": str(tmp_path), "port": server.url.rpartition(":")[2]}
    settings = load_settings(here | {"tls-certificate": str(made.certificate)}, environ={})
    assert settings.client_url.startswith("https://127.0.0.1:")
    tls = own_certificate(settings)
    async with ChatClient(settings.client_url, tls=tls) as client:
        assert (await client.health())["status"] == "ok"
    async with LoadClient(settings.client_url, tls=tls) as load:
        assert (await load.complete("x", Generation(4))).text
    renew(made, tmp_path / "new")
    async with ChatClient(settings.client_url, tls=own_certificate(settings)) as client:
        with pytest.raises(NoServerError):
            await client.health()


def test_certificate_and_key_must_be_set_together() -> None:
    here = {"state-dir": "/nowhere", "cache-dir": "/nowhere"}
    assert certificate_files(load_settings(here, environ={})) is None
    with pytest.raises(CertificateError, match="given together"):
        certificate_files(load_settings(here | {"tls-key": "/key.pem"}, environ={}))
