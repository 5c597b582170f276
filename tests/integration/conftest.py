"""Fixtures: a server whose engine needs no model, and clients of that server."""

import asyncio
import hashlib
import importlib
import time
from collections.abc import AsyncIterator, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import aiohttp
import httpcore2
import pytest
import torch
from openai import AsyncOpenAI

from app import server
from app.routes.api import OPERATIONS
from app.routes.routing import route_of
from app.transport import event_stream
from app.transport.event_stream import EventStream, Ping
from cache_tiers.cpu_store.plain_memory import PLAIN
from engine.grammar import automaton
from engine.testing.replay_engine import ReplayEngine
from models.layers.linear import can_prepack
from models.tokenizers.tokenizer import Tokenizer
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.patient_loads import make_loads_patient

# oneDNN packs bfloat16 weights on some CPUs only. test_without_native_step.py covers the other CPUs.
collect_ignore = [] if can_prepack(torch.bfloat16) else ["models/test_prepacked.py"]


@pytest.fixture(scope="session", autouse=True)
def _lmcache_ends_at_once() -> Iterator[None]:
    """Speed up the polling of LMCache's eviction threads.

    The threads check once a second whether to stop, so closing a store would take up to a second.
    """
    # Imported first: this module silences the harmless warnings of LMCache's imports.
    if importlib.import_module("cache_tiers.cpu_store.open_store").INSTALLED is PLAIN:
        yield
        return
    eviction_controller = importlib.import_module("lmcache.v1.distributed.storage_controllers.eviction_controller")
    often = SimpleNamespace(monotonic=time.monotonic, sleep=lambda seconds: time.sleep(seconds / 50))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(eviction_controller, "time", often)
        yield


@pytest.fixture(scope="session", autouse=True)
def _equal_tokenizers_are_loaded_once() -> Iterator[None]:
    """Load tokenizers with the same files once, and convert them for grammars once. They never change.

    Both together take most of an engine's start.
    """
    load = Tokenizer.load
    loaded = dict[tuple[object, ...], Tokenizer]()

    def load_once(path: Path, most_ids: int | None = None) -> Tokenizer:
        files = sorted(path.glob("*.json"))
        key = (most_ids, *((file.name, hashlib.sha256(file.read_bytes()).digest()) for file in files))
        if key not in loaded:
            loaded[key] = load(path, most_ids)
        return loaded[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tokenizer, "load", load_once)
        patch.setattr(automaton, "make_tokenizer", cache(automaton.make_tokenizer))
        yield


@pytest.fixture(scope="session", autouse=True)
def _certificates_are_read_once() -> Iterator[None]:
    """Share one TLS context among the HTTP clients. Each would read the certificates of all authorities, for no use."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpcore2, "default_ssl_context", cache(httpcore2.default_ssl_context))
        yield


@pytest.fixture(scope="session", autouse=True)
def _routes_are_built_once() -> Iterator[None]:
    """Share the routes among the servers. They take a third of a server's start, and never change."""
    routes = {id(operation): route_of(operation) for operation in OPERATIONS}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "route_of", lambda operation: routes.get(id(operation)) or route_of(operation))
        yield


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[RunningServer[ReplayEngine]]:
    """Server with a fake engine."""
    async with running_server(tmp_path, ReplayEngine()) as server:
        yield server


@pytest.fixture
async def http(api: RunningServer[ReplayEngine]) -> AsyncIterator[aiohttp.ClientSession]:
    """HTTP client of `api`; paths are relative to the server's root."""
    async with api_client(api.url) as session:
        yield session


@pytest.fixture
async def client(api: RunningServer[ReplayEngine]) -> AsyncIterator[AsyncOpenAI]:
    """OpenAI's own client of `api`, without retries."""
    async with AsyncOpenAI(base_url=f"{api.url}/v1", api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture
def pinged(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Keep silent streams alive every 10 ms. The event is set once one was."""
    pinged = asyncio.Event()

    class Noted(Ping):
        def encode(self) -> bytes:
            pinged.set()
            return super().encode()

    monkeypatch.setattr(event_stream, "Ping", Noted)
    defaults = EventStream.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "ping_seconds", 0.01)
    return pinged


@pytest.fixture
def patient_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no load lose against computing, however busy the machine is."""
    make_loads_patient(monkeypatch)
