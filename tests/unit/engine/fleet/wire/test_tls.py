"""TLS between processes that know each other's certificates: no other process connects or is reached."""

import asyncio
import ssl

import pytest

from engine.fleet.wire.tls import Identity

REPLICA, GATEWAY, STRANGER = Identity.new(), Identity.new(), Identity.new()


async def greeting(client: ssl.SSLContext) -> bytes:
    """Return what a server of REPLICA, which accepts only GATEWAY, says to a client; empty if it hangs up.

    Raise ssl.SSLError if the client does not accept the server.
    """

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"welcome")
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0, ssl=REPLICA.accepting(GATEWAY.certificate))
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname(), ssl=client)
        try:
            return await reader.read()
        except OSError:
            # The server's refusal comes after the client's part of the handshake.
            return b""
        finally:
            writer.transport.abort()


async def test_peers_that_know_each_other_talk_over_tls_1_3() -> None:
    context = GATEWAY.connecting(REPLICA.certificate)
    assert context.minimum_version == ssl.TLSVersion.TLSv1_3
    assert await greeting(context) == b"welcome"


async def test_client_with_unknown_certificate_is_refused() -> None:
    assert await greeting(STRANGER.connecting(REPLICA.certificate)) == b""


async def test_client_without_certificate_is_refused() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(cadata=REPLICA.certificate.decode())
    assert await greeting(context) == b""


async def test_server_with_unknown_certificate_is_not_trusted() -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        await greeting(GATEWAY.connecting(STRANGER.certificate))
