"""Parts of libraries that these do not promise to keep. A version without one of them fails here, by its name."""

# mypy: disable-error-code="import-untyped"

import ast
import inspect
import re
from collections.abc import Callable, Container, Iterator, Sequence
from logging import getLogger
from pathlib import Path
from typing import Any, Final

import pytest
import torch
import uvicorn
from sse_starlette import EventSourceResponse, ServerSentEvent
from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.integrations.moe import use_experts_implementation
from uvicorn import _types
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from app.transport.protocol import HttpProtocol

ROOT = Path(__file__).parents[2]
PRODUCT: Final = ("app", "engine", "cache_tiers", "models")

METHODS: Final[dict[Callable[..., Any], tuple[str, ...]]] = {
    HttpToolsProtocol.__init__: ("config", "server_state", "app_state", "_loop"),
    HttpToolsProtocol._start_asgi_task: ("cycle", "app"),
    HttpToolsProtocol._unset_keepalive_if_required: (),
    HttpToolsProtocol.connection_made: ("transport",),
    HttpToolsProtocol.connection_lost: ("exc",),
    HttpToolsProtocol.eof_received: (),
    HttpToolsProtocol.data_received: ("data",),
    HttpToolsProtocol.pause_writing: (),
    HttpToolsProtocol.resume_writing: (),
    HttpToolsProtocol.on_message_begin: (),
    HttpToolsProtocol.on_url: ("url",),
    HttpToolsProtocol.on_header: ("name", "value"),
    HttpToolsProtocol.on_headers_complete: (),
    HttpToolsProtocol.on_body: ("body",),
    HttpToolsProtocol.on_message_complete: (),
    HttpToolsProtocol.on_response_complete: (),
    HttpToolsProtocol.send_400_response: ("msg",),
    HttpToolsProtocol.shutdown: (),
    RequestResponseCycle.__init__: (
        "scope",
        "transport",
        "flow",
        "logger",
        "access_logger",
        "access_log",
        "default_headers",
        "message_event",
        "expect_100_continue",
        "keep_alive",
        "on_response",
    ),
    EventSourceResponse._ping: ("send",),
    EventSourceResponse._listen_for_disconnect: ("receive",),
    EventSourceResponse._send_with_timeout: ("send", "message"),
}
OF_A_PROTOCOL: Final = (
    "app",
    "app_state",
    "access_logger",
    "asgi_version",
    "client",
    "cycle",
    "expect_100_continue",
    "flow",
    "headers",
    "logger",
    "loop",
    "parser",
    "pipeline",
    "root_path",
    "scheme",
    "server",
    "server_state",
    "timeout_keep_alive_task",
    "transport",
    "url",
)
OF_A_CYCLE: Final = (
    "chunked_encoding",
    "disconnected",
    "expected_content_length",
    "flow",
    "keep_alive",
    "message_event",
    "more_body",
    "response_complete",
    "response_started",
    "scope",
    "transport",
)
OF_A_STREAM: Final = ("_ping_interval", "_send_lock", "active", "ping_message_factory", "send_timeout")
TYPES: Final = (
    "ASGI3Application",
    "ASGIReceiveCallable",
    "ASGISendCallable",
    "ASGISendEvent",
    "HTTPScope",
    "Scope",
)
MODULES: Final = {
    "uvicorn": "app/transport/uvicorn_parts.py",
    "sse_starlette": "app/transport/sse_parts.py",
    "lmcache": "cache_tiers/cpu_store/lmcache_parts.py",
    "transformers": "models/transformers/transformers_parts.py",
    "torch": "models/layers/linear.py",
    "ray": "engine/fleet/placement/ray_cluster.py",
    "llguidance": "engine/grammar/automaton.py",
}
"""The module that names the private parts of each library."""
OF_PYTHON: Final = ("_exit", "_current_frames")
"""Names that Python promises to keep."""


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.__qualname__)
def test_method_has_its_parameters(method: Callable[..., Any]) -> None:
    names = tuple(inspect.signature(method).parameters)
    assert names == ("self", *METHODS[method])


@pytest.mark.parametrize("name", TYPES)
def test_uvicorn_has_the_type(name: str) -> None:
    assert hasattr(_types, name)


@pytest.fixture
async def protocol() -> HttpToolsProtocol:
    """Make uvicorn's protocol without a connection, at the beginning of a request."""

    async def app(scope: object, receive: object, send: object) -> None: ...

    protocol = HttpToolsProtocol(uvicorn.Config(app, log_config=None), ServerState(), {})
    protocol.on_message_begin()
    return protocol


@pytest.mark.parametrize("name", OF_A_PROTOCOL)
async def test_uvicorns_protocol_has(protocol: HttpToolsProtocol, name: str) -> None:
    assert hasattr(protocol, name)


@pytest.mark.parametrize("name", OF_A_CYCLE)
async def test_uvicorns_cycle_has(protocol: HttpToolsProtocol, name: str) -> None:
    cycle = RequestResponseCycle(
        scope={"type": "http", "headers": []},  # type: ignore[typeddict-item]
        transport=protocol.transport,
        flow=protocol.flow,
        logger=getLogger("test"),
        access_logger=getLogger("test"),
        access_log=False,
        default_headers=[],
        message_event=None,  # type: ignore[arg-type]
        expect_100_continue=False,
        keep_alive=False,
        on_response=lambda: None,
    )
    assert hasattr(cycle, name)


@pytest.mark.parametrize("name", OF_A_STREAM)
async def test_libraries_stream_has(name: str) -> None:
    stream = EventSourceResponse(iter(()), ping_message_factory=lambda: ServerSentEvent("x"), send_timeout=1.0)
    assert hasattr(stream, name)


def test_protocol_overrides_only_what_is_named_here() -> None:
    """Find methods of uvicorn's that ours replaces by accident."""
    ours = {
        name for base in HttpProtocol.__mro__[: HttpProtocol.__mro__.index(HttpToolsProtocol)] for name in vars(base)
    }
    theirs = {name for name, value in vars(HttpToolsProtocol).items() if callable(value)}
    named = {method.__name__ for method in METHODS if method.__qualname__.startswith("HttpToolsProtocol.")}
    assert ours & theirs <= named


class _Experts(nn.Module):
    """Experts that leave everything to the interface of transformers."""


def test_transformers_has_its_parts() -> None:
    network = PreTrainedModel
    assert (callable(network._can_set_experts_implementation), callable(network._from_config)) == (True, True)
    assert network._is_stateful is False
    config = PreTrainedConfig(attn_implementation="eager", experts_implementation="eager")
    assert (config._attn_implementation_internal, config._experts_implementation_internal) == ("eager", "eager")
    assert callable(use_experts_implementation(_Experts)._apply_gate)
    assert nn.Sequential(nn.Identity())._modules.keys() == {"0"}


def test_torch_has_the_operators_of_prepacked_layers() -> None:
    operators = torch.ops.mkldnn
    assert all(map(callable, (operators._is_mkldnn_bf16_supported, operators._linear_pointwise)))
    assert callable(operators._reorder_linear_weight)


def _own_names(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Yield the names that a file gives to its classes, functions, fields and attributes."""
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                yield name
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                yield name


def _private_parts(nodes: Sequence[ast.AST], own: Container[str]) -> Iterator[str]:
    """Yield private modules that a file imports, private names that are not our own, and those of LMCache's objects."""
    for node in nodes:
        match node:
            case ast.ImportFrom(module=str(module)) if any(part.startswith("_") for part in module.split(".")):
                yield module
            case ast.Attribute(attr=name) if (
                re.fullmatch("_[^_].*", name) and name not in own and name not in OF_PYTHON
            ):
                yield name
            case ast.Attribute(ast.Attribute(attr="_l1" | "_manager" as owner), attr) if attr.startswith("_"):
                yield f"{owner}.{attr}"


def test_private_parts_are_used_in_one_module_each() -> None:
    files = {
        path.relative_to(ROOT).as_posix(): list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        for folder in PRODUCT
        for path in (ROOT / folder).rglob("*.py")
    }
    own = {name for nodes in files.values() for name in _own_names(nodes)}.union(OF_PYTHON)
    found = {path: parts for path, nodes in files.items() if (parts := list(_private_parts(nodes, own)))}
    assert found.keys() == set(MODULES.values()), found
