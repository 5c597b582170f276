"""GET /health and /ready: the server's state for an operator, a load balancer and the page."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.conversations.turns import sampling_of_chats
from app.host.backend import Backend
from app.host.engine_host import RETRY_AFTER_SECONDS, EngineHost
from app.host.hidden_folders import without_folders
from app.http.operation import Operation
from app.observability.figures import TierFigures, tier_figures
from app.observability.tier_words import tier_words
from app.schemas.response_bodies.health import Health, ModelHealth, ReplicaHealth, TierHealth
from app.services import Services, server_services
from app.tenants.principal import Principal
from app.version import VERSION
from cache_tiers.tier import TierId


async def health(request: Request) -> Response:
    """Respond 200 as long as the process responds at all."""
    return JSONResponse(_body(server_services(request), request.state.principal))


async def ready(request: Request) -> Response:
    """Respond 200 while requests are served, else 503 with the reason."""
    services = server_services(request)
    host, body = services.model.host, _body(services, request.state.principal)
    if host.status == "ok":
        return JSONResponse(body)
    return JSONResponse(body, 503, {"Retry-After": str(RETRY_AFTER_SECONDS)})


def _body(services: Services, asks: Principal | None) -> Health:
    """Return only the status without a key, the facts that the page shows to a user, and everything to an admin."""
    if asks is None:
        return _status(services.model.host)
    whole = _whole(services)
    return whole if asks.scope == "admin" else {**whole, "tiers": None, "replicas": None, "suggested_model": None}


def _status(host: EngineHost) -> Health:
    return {
        "status": host.status,
        "version": None,
        "model": None,
        "models": None,
        "starting": None,
        "reason": None,
        "reason_code": None,
        "tiers": None,
        "workers": None,
        "replicas": None,
        "unindexed": None,
        "suggested_model": None,
    }


def _whole(services: Services) -> Health:
    host = services.model.host
    engine = host.engine
    return {
        "status": host.status,
        "version": VERSION,
        "model": None if engine is None else _model(engine),
        "models": None if host.models is None else [each.name for each in host.models],
        "starting": host.progress if host.state in ("starting", "failed") else None,
        "reason": _reason(host),
        "reason_code": host.storage.reason_code if host.status == "degraded" else None,
        "tiers": None if engine is None else _tiers(engine),
        "workers": None if engine is None else _workers(engine),
        "replicas": None if engine is None else _replicas(engine),
        "unindexed": services.store.upkeep.unindexed,
        "suggested_model": host.suggested_model or None,
    }


def _workers(engine: Backend) -> dict[str, Any] | None:
    """Return the state of the workers; None if the model is computed in the server's own process."""
    workers = engine.stats().workers
    if workers is None:
        return None
    return {
        "size": len(workers.pids),
        "state": workers.state,
        "restarts": workers.restarts,
        "last_loss": without_folders(workers.last_loss) or None,
        "ranks": [{"rank": rank, "pid": pid, "state": workers.state} for rank, pid in enumerate(workers.pids)],
    }


def _replicas(engine: Backend) -> list[ReplicaHealth] | None:
    """Return the state of each replica; None if the engine is in the server's own process."""
    return [
        {
            "index": each.index,
            "state": each.state,
            "epoch": each.epoch,
            "machine": each.machine,
            "pid": each.pid,
            "answers": each.answers,
            "restarts": each.restarts,
            "last_loss": without_folders(each.last_loss) or None,
            "role": each.role,
            "prefilled_tokens": each.prefilled_tokens,
            "serves_as": each.serves_as,
        }
        for each in engine.stats().replicas
    ] or None


def _reason(host: EngineHost) -> str | None:
    """Return why not all requests are served, or what was lost before the start; None if all is well."""
    match host.status:
        case "ok":
            return None if host.storage.lost is None else without_folders(host.storage.lost)
        case "starting":
            return f"The server is starting: {host.progress}"
        case "stopping":
            return "The server is stopping"
        case "failed" if host.failed:
            return f"The engine could not be started: {host.progress}"
        case "failed":
            assert host.engine is not None
            return f"The engine has failed, and the server is restarting: {without_folders(host.engine.why_gave_up)}"
        case "recovering":
            assert host.lost_workers is not None
            return f"The processes that compute the model are being restarted: {without_folders(host.lost_workers)}"
        case "degraded":
            assert host.storage.reason is not None
            return without_folders(host.storage.reason)


def _model(engine: Backend) -> ModelHealth:
    thinking = engine.chat_format.thinking
    return {
        "name": engine.model_name,
        "dtype": engine.config.model.dtype,
        "device": engine.config.device.kind,
        "device_note": without_folders(engine.config.device.note) or None,
        "max_model_len": engine.max_model_len,
        "sampling": dict(sampling_of_chats(engine)),
        "thinking": list(thinking.modes) if thinking is not None else [],
    }


def _tiers(engine: Backend) -> dict[TierId, TierHealth]:
    stats = engine.stats()
    figures = tier_figures(stats)
    return {tier: _tier(figures.get(tier), words) for tier, words in tier_words(engine, stats).items()}


def _tier(figures: TierFigures | None, state: str) -> TierHealth:
    used, capacity = (figures.used_bytes, figures.capacity_bytes) if figures is not None else (0, 0)
    return {"used_bytes": used, "capacity_bytes": capacity, "state": state}


operations = [
    Operation("GET", "/health", health, answer=Health, access="open"),
    Operation("GET", "/ready", ready, answer=Health, access="open"),
]
