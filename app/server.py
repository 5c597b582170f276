"""Wiring of the ASGI application from its services, and of `ebb serve` from the settings."""

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn, cast

import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from app import openapi
from app.access.auth_policy import auth_policy_of, why_not_to_serve
from app.access.authentication import Authentication
from app.access.middleware import HostNames, OriginGuard, cors
from app.access.requests_in_progress import OpenRequests
from app.accounts.accounts import accounts_of
from app.config.extras import install_command
from app.config.options import SettingsError
from app.config.parsers import ON_RAY, is_loopback
from app.config.reservable import reservable_bytes
from app.config.secret import digest_of_secret, load_secret
from app.config.served_models import has_several_models
from app.config.settings import Settings
from app.domain.bounds import KEEP_ALIVE_SECONDS
from app.host.earlier_kv import log_earlier_kv
from app.host.ended_server import RESTART
from app.host.engine_host import EngineHost
from app.host.listeners import Listeners
from app.host.model_aliases import ModelAliases
from app.host.startup import Build, Report, Start, Startup, engine_builder, started
from app.host.suitable_model import better_model
from app.host.supervisor import not_ignored
from app.http.error_responses import on_ebb_error, on_http_error
from app.http.operation_table import OperationTable
from app.http.request_context import BeginTrace, RequestContext
from app.logs.request_log import tenant_of_call
from app.open_services import ServicePlan, open_services
from app.prompts.prefix_rules import PrefixRules
from app.routes import scim
from app.routes.api import OPERATIONS
from app.routes.pages import STATIC, UnknownAddress, file_routes, is_page_file, page_operations
from app.routes.routing import route_of
from app.runs.hand_over import hand_over_in_batches
from app.services import Services
from app.storage.errors import UnusableDatabaseError
from app.storage.sqlite.restoration import complete_restore
from app.storage.sqlite.snapshot import remove_drafts
from app.tenants.fair_threads import FairThreads
from app.tenants.limits import LimitReachedError
from app.transport.connections import Connections, connection_limits
from app.transport.faults import Faults
from app.transport.protocol import HttpProtocol
from app.transport.tls import TlsContext, certificate_files
from app.transport.tls_door import TlsDoor
from engine.api.errors import EbbError

if TYPE_CHECKING:
    from app.observability.tracing import Tracing

DRAIN_SECONDS = 5.0
"""Seconds that running answers have to end after a signal. Containers are killed five seconds later."""

HAND_OVER_SECONDS = 20.0
"""Seconds after which a process whose engine failed exits, even if something still waits."""

CLOSE_SECONDS = 2

logger = logging.getLogger(__name__)


def make_app(
    services: Services,
    connections: Connections,
    *,
    bound_host: str = "127.0.0.1",
    public_url: str = "",
    static: Path = STATIC,
    ollama_port: int | None = None,
    cors_origins: tuple[str, ...] = (),
    strict_fields: bool = False,
    log_messages: bool = False,
    begin_trace: BeginTrace | None = None,
) -> Starlette:
    """Build the ASGI application. The caller opens and closes `services`.

    bound_host: the address that the server listens on.
    public_url: the URL at which people open the server, "" without a proxy. Requests for other host names are refused,
        unless a key is always required.
    ollama_port: the port for clients of Ollama; None without one.
    cors_origins: origins of other sites whose pages may call the API.
    strict_fields: refuse unknown fields on the compatible routes too.
    log_messages: log the bodies of requests.
    begin_trace: called with every request; None without tracing.
    """

    def on_limit_reached(request: Request, error: Exception) -> Response:
        assert isinstance(error, LimitReachedError)
        services.metrics.limits_reached.labels(error.limit).inc()
        return on_ebb_error(request, error)

    names = HostNames(bound_host, public_url, services.access.ring.auth_policy)
    operations = (*OPERATIONS, *openapi.operations, *scim.operations, *page_operations(static, ollama_port))
    table = OperationTable(operations, is_page_file)
    logs_body = table.logs_body if log_messages else lambda _method, _path: False
    app = Starlette(
        routes=[*map(route_of, operations), *file_routes(static)],
        middleware=[
            Middleware(RequestContext, metrics=services.metrics, logs_body=logs_body, begin_trace=begin_trace),
            *cors(cors_origins),
            Middleware(Faults),
            Middleware(UnknownAddress, index=static / "index.html"),
            Middleware(OriginGuard, operations=table, names=names, allowed_origins=cors_origins),
            Middleware(
                Authentication,
                operations=table,
                ring=services.access.ring,
                proxy=services.access.accounts.proxy,
                open_requests=OpenRequests(services.access.ring.limits_of, connections),
                count_refusal=lambda limit: services.metrics.limits_reached.labels(limit).inc(),
            ),
        ],
        exception_handlers={
            LimitReachedError: on_limit_reached,
            EbbError: on_ebb_error,
            HTTPException: on_http_error,
        },
    )
    app.state.services = services
    app.state.gates = services.access.gates
    app.state.tenant_threads = services.tenant_threads
    app.state.public_url = public_url
    app.state.strict_fields = strict_fields
    return app


SWITCH_SECONDS = 0.0001
"""Seconds after which a thread that runs Python gives up the GIL to the event loop, or to the thread that begins the
model's next step. Python's default of 5 ms is a tenth of a step, lost several times a step while an import is parsed.
The event loop gives up the GIL at each system call and then waits for so long, dozens of times a request.
"""


def event_loop() -> asyncio.AbstractEventLoop:
    """Create the event loop of a server, whose threads take turns among tenants."""
    loop = uvloop.new_event_loop()
    loop.set_default_executor(FairThreads(tenant_of_call))
    return loop


def run_server(
    settings: Settings,
    listeners: Listeners,
    build: Build | None = None,
    *,
    drain_seconds: float = DRAIN_SECONDS,
    on_step: Report = lambda _: None,
) -> int:
    """Serve on `listeners` until a stop signal arrives, and return the exit status for `app.host.supervisor`.

    Call from the main thread of a process that holds the lock of the state directory.

    build: makes the engine; None makes the engine that `settings` describe.
    drain_seconds: time that running answers have to end after the signal.
    on_step: receives each step of the start in words, and an empty text once the server is ready.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    if complete_restore(settings.database):
        logger.warning("completed an interrupted restore of the conversations")
    remove_drafts(settings.database)
    if (reason := why_not_to_serve(settings)) is not None:
        logger.error("%s", reason)
        return 1
    host = EngineHost(
        aliases=ModelAliases(settings.model_alias),
        suggested_model=better_model(settings),
        unloaded_adapters=settings.unloaded_adapters,
    )
    with asyncio.Runner(loop_factory=event_loop) as runner:
        try:
            status = runner.run(_serve(settings, listeners, host, build, drain_seconds, on_step))
        except UnusableDatabaseError as exc:
            logger.error("%s", exc)
            return 1
        except EbbError:
            raise
        except Exception:
            logger.exception("the server crashed because of a defect: please report it")
            _exit_now(RESTART if host.ready_at else 1)
        if host.holds_threads or host.gave_up:
            # A model that is loading, or a step that hangs, cannot be interrupted. Everything durable is closed by now.
            _exit_now(status)
    return status


def _exit_now(status: int) -> NoReturn:
    """End the process without waiting for its threads."""
    logging.shutdown()
    os._exit(status)


async def _serve(
    settings: Settings,
    listeners: Listeners,
    host: EngineHost,
    build: Build | None,
    drain_seconds: float,
    on_step: Report,
) -> int:
    if settings.shared_replicas and not settings.database_url:
        raise SettingsError("--shared-replicas needs --database-url, where servers find them", param="shared-replicas")
    if settings.shared_replicas and (settings.shared_replicas == ON_RAY) != bool(settings.ray_address):
        raise SettingsError(
            f"--shared-replicas {ON_RAY} and --ray-address belong together: add the other one, or give an address of "
            "this machine and omit --ray-address",
            param="shared-replicas",
        )
    connections = Connections(connection_limits(settings))
    files = certificate_files(settings)
    tls = TlsContext(files) if files is not None else None
    tracing = _tracing(settings.otlp_endpoint, host) if settings.otlp_endpoint else None
    services = await open_services(
        settings.database,
        host,
        ServicePlan(
            model_titles=settings.chat_titles == "model",
            auth_policy=auth_policy_of(settings),
            response_days=settings.response_days,
            deleted_days=settings.deleted_days,
            tenant_weights=settings.tenant_weights,
            prefix_rules=PrefixRules.chosen(
                removed=settings.removed_lines,
                moved=settings.moved_lines,
                as_sent=settings.prompts_as_sent,
            ),
            accounts=replace(accounts_of(settings), secret=load_secret(settings.secret_file)),
            share_links=settings.share_links,
            token_prices=settings.token_prices,
            database_url=settings.database_url,
            secret_digest=digest_of_secret(settings.secret_file) if settings.database_url else b"",
            shares_replicas=bool(settings.shared_replicas),
            reservable_bytes=partial(reservable_bytes, settings),
        ),
    )
    services.begin()
    if tls is not None:
        tls.begin()
    server = DrainingServer(
        uvicorn.Config(
            make_app(
                services,
                connections,
                bound_host=settings.host,
                public_url=settings.public_url,
                ollama_port=listeners.ollama_port,
                cors_origins=settings.cors_origins,
                strict_fields=settings.strict_fields,
                log_messages=settings.log_messages,
                begin_trace=tracing.begin if tracing is not None else None,
            ),
            http=http_protocol(connections, tls),
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=CLOSE_SECONDS,
        ),
        services,
        drain_seconds,
    )
    start = _start_of(settings, host, services, build)
    scheme = "https" if tls is not None else "http"
    page_url = settings.public_url or replace(settings, port=listeners.port).client_url
    startup = Startup(start, host, page_url=page_url, on_step=on_step, on_failure=server.close_now)
    _log_addresses(settings, listeners, scheme)
    startup.begin()
    watching = [
        asyncio.create_task(server.restart_without_engine(), name="watch-engine"),
        asyncio.create_task(server.stop_without_database(), name="watch-database"),
    ]
    if not (settings.no_prefix_cache or has_several_models(settings)):
        secret = load_secret(settings.secret_file)
        earlier = log_earlier_kv(settings.tier_config(secret), secret, host)
        watching.append(asyncio.create_task(earlier, name="earlier-kv"))
    await server.serve(sockets=listeners.sockets)
    await server.wait_until_drained()
    for task in watching:
        task.cancel()
    if tls is not None:
        await tls.stop()
    await services.close()
    if tracing is not None:
        await asyncio.to_thread(tracing.close)
    if host.gave_up:
        return RESTART
    return 1 if host.failed or services.records.storage_probe.lost.is_set() else 0


def _start_of(settings: Settings, host: EngineHost, services: Services, build: Build | None) -> Start:
    """Return the way to start the engine: the one that `build` makes, or the ones that the settings describe."""
    if build is None and has_several_models(settings):
        # A server with one model starts without the code of several.
        from app.host.model_builds import start_models

        return partial(start_models, settings, host)
    return partial(started, build or engine_builder(settings, directory=services.records.replica_directory))


def _log_addresses(settings: Settings, listeners: Listeners, scheme: str) -> None:
    at = f"{scheme}://{_printable(settings.host)}"
    opened_at = f" (public URL {settings.public_url})" if settings.public_url else ""
    logger.info("listening on %s:%d%s; the model is loading", at, listeners.port, opened_at)
    if listeners.ollama_port is not None:
        logger.info("clients of Ollama connect to %s:%d", at, listeners.ollama_port)


def http_protocol(connections: Connections, tls: TlsContext | None = None) -> type[asyncio.Protocol]:
    """Make the protocol factory that uvicorn calls for each new connection."""
    factory = (
        partial(HttpProtocol, connections=connections)
        if tls is None
        else partial(TlsDoor, connections=connections, tls=tls)
    )
    # uvicorn accepts any callable here, although it types the argument as a class.
    return cast("type[asyncio.Protocol]", factory)


def _tracing(endpoint: str, host: EngineHost) -> "Tracing":
    try:
        from app.observability.tracing import Tracing
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"--otlp-endpoint needs {error.name}, which is not installed: {install_command('tracing')}",
            param="otlp-endpoint",
        ) from error
    return Tracing(endpoint, lambda: host.engine.model_name if host.engine is not None else "-")


class DrainingServer(uvicorn.Server):
    """A server that, after the first signal, finishes running answers for `drain_seconds` and refuses new ones.

        signal -> generation routes answer 503 -> running answers end, or are handed over to the next process -> the
        tiers are flushed -> connections close -> exit 0

    Only the first signal counts. The supervising process forwards every signal, and kills this process at the second.
    """

    def __init__(self, config: uvicorn.Config, services: Services, drain_seconds: float) -> None:
        super().__init__(config)
        self._services = services
        self._drain_seconds = drain_seconds
        self._loop = asyncio.get_running_loop()
        self._draining: asyncio.Task[None] | None = None
        self._signalled = False

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle all stop signals until the process ends. A signal that the parent ignores (nohup) stays ignored."""
        for each in (signal.SIGTERM, signal.SIGINT, *not_ignored(signal.SIGHUP, signal.SIGQUIT)):
            signal.signal(each, self.handle_exit)
        yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """Begin to drain. uvicorn's own handler would close the streams first and raise the signal again later."""
        if self._signalled:
            return
        self._signalled = True
        # An empty context: the log would otherwise attribute the line to the request that the signal interrupted.
        self._loop.call_soon_threadsafe(self._begin_drain, signal.Signals(sig).name, context=Context())

    async def restart_without_engine(self) -> None:
        """Hand the runs over to the next process, and end this one, once the engine has failed for good.

        The thread of a hung step may never end. A timer ends the process even if the hand-over waits for that thread.
        """
        host = self._services.model.host
        engine = await host.until_ready()
        await engine.gave_up.wait()
        logger.error("handing the answers over to the next server process: %s", engine.why_gave_up)
        last = threading.Timer(HAND_OVER_SECONDS, _exit_now, (RESTART,))
        last.daemon = True
        last.start()
        if self._draining is None:
            self._draining = asyncio.create_task(self._drain(0.0), name="hand-over")

    async def stop_without_database(self) -> None:
        """End the process once another version of Ebb has changed the database. Answers continue at other servers."""
        await self._services.records.storage_probe.lost.wait()
        if self._draining is None:
            self._draining = asyncio.create_task(self._drain(0.0), name="stop-without-database")

    def close_now(self) -> None:
        """Stop without draining, for a server that has no engine."""
        self._services.live.stop()
        self._services.records.changes.stop()
        self.should_exit = True

    async def wait_until_drained(self) -> None:
        """Wait for the drain to complete, if one has begun."""
        if self._draining is not None:
            await self._draining

    def _begin_drain(self, name: str) -> None:
        logger.info("%s: stopping (a second signal stops at once)", name)
        if self._draining is None:
            self._draining = asyncio.create_task(self._drain(self._drain_seconds), name="drain")

    async def _drain(self, seconds: float) -> None:
        runs, lease = self._services.records.runs, self._services.records.lease
        # Until the lease ends, no other server could continue the answers of the clients that come to it.
        runs.hold_followers()
        lease.stop_takeovers()
        try:
            stopping = [self._services.model.host.stop(seconds)]
            if seconds and not lease.is_alone:
                stopping.append(hand_over_in_batches(runs, seconds))
            await asyncio.gather(*stopping)
            await runs.join()
            await lease.stop()
            await self._services.records.shared_runs.stop()
        finally:
            self._services.records.runs.interrupt()
            # The live feed never ends by itself, and would hold up the exit.
            self._services.live.stop()
            self._services.records.changes.stop()
            self.should_exit = True


def _printable(host: str) -> str:
    if is_loopback(host):
        return "localhost" if host == "::1" else host
    return f"[{host}]" if ":" in host else host
