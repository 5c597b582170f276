"""A TCP proxy that cuts every connection after a fixed time, as some networks do."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(slots=True)
class CuttingProxy:
    """Address and counter of a running proxy."""

    url: str
    """Base URL of the listening socket."""
    cuts: int = 0
    """Connections cut so far. Connections that the client or the server closed do not count."""


@asynccontextmanager
async def cutting_proxy(server_url: str, seconds: float) -> AsyncIterator[CuttingProxy]:
    """Run a proxy to `server_url` until the block ends. seconds: lifetime of each connection."""
    server = urlsplit(server_url)
    carrying = set[asyncio.Task[None]]()

    async def carry(client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        carrying.add(task)
        from_server, to_server = await asyncio.open_connection(server.hostname, server.port)
        try:
            async with asyncio.timeout(seconds):
                await asyncio.gather(_copy(client, to_server), _copy(from_server, to_client))
        except TimeoutError:
            proxy.cuts += 1
        except ConnectionError:
            pass
        finally:
            for end in (to_client, to_server):
                end.transport.abort()
                with suppress(ConnectionError):
                    await end.wait_closed()
            carrying.discard(task)

    listener = await asyncio.start_server(carry, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    proxy = CuttingProxy(f"http://127.0.0.1:{port}")
    async with listener:
        yield proxy
    await asyncio.gather(*carrying, return_exceptions=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(1 << 16):
        writer.write(piece)
        await writer.drain()
    writer.write_eof()
