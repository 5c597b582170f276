"""Startup of the engine from the settings, while the port already answers."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from app.config.secret import load_secret
from app.config.served_models import model_name
from app.config.settings import Settings
from app.host.backend import Backend
from app.host.daemon_thread import in_daemon_thread
from app.host.engine_host import EngineHost
from app.host.hidden_folders import without_folders
from engine.api.errors import EbbError
from engine.config import EngineConfig
from engine.device.choice import choose_device
from engine.process.gc_freeze import frozen_objects
from engine.tracing import NO_TRACE, Trace
from models.errors import ModelError

if TYPE_CHECKING:
    from engine.fleet.placement.shared_place import ReplicaDirectory

Report = Callable[[str], None]
Build = Callable[[Report], tuple[Backend, str]]
"""Makes the engine, and returns it with the identity of tokenizer, template and tool format. Blocks, and reports."""

logger = logging.getLogger(__name__)


def engine_builder(settings: Settings, trace: Trace = NO_TRACE, directory: "ReplicaDirectory | None" = None) -> Build:
    """Return a function that finds or downloads the model, loads it, and opens the tiers.

    directory: of the replicas that the servers of a database share; None if they share none.
    """

    def build(report: Report) -> tuple[Backend, str]:
        # OpenMP reads this when torch loads it. Waiting threads sleep: spinning gains a little on a quiet machine, and
        # slows everything down as soon as another program wants the cores.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        # Imported here, since the port must answer before these modules are loaded.
        from models.download.resolve import resolve_model
        from models.weights.fingerprint import model_fingerprint

        path = resolve_model(settings.model, settings.cache_dir, report, device=choose_device(settings.device))
        config = serving_config(settings, path, report)
        with frozen_objects():
            engine = _engine(config, settings, report, trace, directory)
        # Stored ids describe tools in the format that the model had then.
        return engine, f"{model_fingerprint(path)}-{engine.chat_format.tools.name}"

    return build


def _engine(
    config: EngineConfig, settings: Settings, report: Report, trace: Trace, directory: "ReplicaDirectory | None"
) -> Backend:
    """Build the engine in this process, or prepare replicas of it in others."""
    roles = settings.replica_roles
    if directory is not None:
        from engine.fleet.build import build_shared_fleet

        return build_shared_fleet(
            config,
            settings.replicas,
            report,
            directory,
            settings.shared_replicas,
            settings.ray_address,
            roles=roles,
        )
    if settings.replicas > 1 or settings.ray_address or roles:
        from engine.fleet.build import build_fleet

        return build_fleet(config, settings.replicas, report, settings.ray_address, roles=roles)
    from engine.wiring.build import build_engine

    return build_engine(config, report, trace)


def serving_config(settings: Settings, path: Path, report: Report, name: str = "") -> EngineConfig:
    """Return the engine's configuration for the model in `path`.

    name: by which clients request the model; empty for the one that follows from the settings.

    The draft model is fetched or converted if necessary. An accelerator that no setting names must pass its check
    first. If it fails, the CPU computes, and its note states the reason.
    """
    make = partial(
        Settings.engine_config,
        model_path=path,
        draft_path=draft_folder(settings, report),
        model_name=name or model_name(settings.model),
        secret=load_secret(settings.secret_file),
    )
    config = make(settings)
    if settings.device != "auto" or config.device.kind == "cpu":
        return config
    from engine.device_check.check import device_problem

    problem = device_problem(config, report)
    if not problem:
        return config
    note = f"{problem}. The CPU computes instead; --device {config.device.kind} skips the check."
    logger.warning("%s", note)
    return make(replace(settings, device="cpu")).with_fields(note=note)


def draft_folder(settings: Settings, report: Report) -> Path | None:
    """Find, fetch or convert the draft model, and return its folder; None without one. Raise as `resolve_model`."""
    if not settings.draft_model:
        return None
    # Imported here, as in `engine_builder`.
    from models.download.resolve import resolve_model

    return resolve_model(settings.draft_model, settings.cache_dir, report, device=choose_device(settings.device))


Start = Callable[[Report], Awaitable[tuple[Backend, str]]]
"""Returns an engine that serves, with the identity of tokenizer, template and tool format. Reports its steps."""


async def started(build: Build, report: Report) -> tuple[Backend, str]:
    """Build an engine on a thread, and start it."""
    engine, prompt_identity = await in_daemon_thread(partial(build, report), "startup")
    await engine.start()
    return engine, prompt_identity


class Startup:
    """One start of the engine, in the background and reported to `host`."""

    def __init__(
        self, start: Start, host: EngineHost, *, page_url: str, on_step: Report, on_failure: Callable[[], None]
    ) -> None:
        """Prepare the start.

        page_url: where people on this machine open the page.
        on_step: receives each step in words, and an empty text once the engine is ready.
        on_failure: called after a start that failed.
        """
        self._start = start
        self._host = host
        self._page_url = page_url
        self._on_step = on_step
        self._on_failure = on_failure
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start in the background and return at once."""
        self._task = asyncio.create_task(self._run(), name="startup")

    async def _run(self) -> None:
        try:
            engine, prompt_identity = await self._start(self._report)
        except (EbbError, ModelError) as exc:
            self._fail(str(exc))
        except Exception:
            logger.exception("the engine could not be started")
            self._fail("an unexpected error, which the log describes")
        else:
            self._host.ready(engine, prompt_identity)
            self._on_step("")
            logger.info("ready: %s, window %d tokens. Open %s", engine.model_name, engine.max_model_len, self._page_url)

    def _report(self, sentence: str) -> None:
        self._on_step(sentence)
        self._host.report(without_folders(sentence))
        logger.info("%s", sentence)

    def _fail(self, sentence: str) -> None:
        logger.error("%s", sentence)
        self._host.fail(without_folders(sentence))
        self._on_failure()
