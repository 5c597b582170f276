"""From settings to a running engine, while the port already answers."""

import asyncio
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from app.backend import Backend
from app.config import Settings
from app.engine_host import EngineHost
from app.secret import load_secret
from engine.errors import EbbError
from models.errors import ModelError

T = TypeVar("T")

logger = logging.getLogger(__name__)


class Startup:
    """One start of the engine. What takes long runs in a thread of its own and reports to `host`."""

    def __init__(self, settings: Settings, host: EngineHost, *, on_failure: Callable[[], None]) -> None:
        self._settings = settings
        self._host = host
        self._on_failure = on_failure
        self._task: asyncio.Task[None] | None = None

    @property
    def ended(self) -> bool:
        """Whether it is over, well or not."""
        return self._task is None or self._task.done()

    def begin(self) -> None:
        """Start; returns at once."""
        self._task = asyncio.create_task(self._run(), name="startup")

    async def _run(self) -> None:
        try:
            await self._start_engine()
        except (EbbError, ModelError) as exc:
            self._fail(str(exc))
        except Exception:
            logger.exception("the engine could not be started")
            self._fail("an unexpected error, see the log")

    async def _start_engine(self) -> None:
        # Imported here because torch takes seconds, and the port shall answer before that.
        def find_model() -> tuple[Path, str]:
            from models.fingerprint import model_fingerprint
            from models.resolve import resolve_model

            path = resolve_model(self._settings.model, self._settings.cache_dir, self._report)
            return path, model_fingerprint(path)

        path, fingerprint = await _in_daemon_thread(find_model)
        config = self._settings.engine_config(
            model_path=path, model_name=model_name(self._settings.model), secret=load_secret(self._settings.secret_file)
        )

        def build() -> Backend:
            from engine.build import build_engine

            return build_engine(config, self._report)

        engine = await _in_daemon_thread(build)
        await engine.start()
        self._host.ready(engine, fingerprint)
        logger.info(
            "ready: %s, %s on %s, window %d", engine.model_name, config.dtype, config.device, engine.max_model_len
        )

    def _report(self, sentence: str) -> None:
        logger.info("%s", sentence)
        self._host.report(sentence)

    def _fail(self, sentence: str) -> None:
        logger.error("%s", sentence)
        self._host.fail(sentence)
        self._on_failure()


def model_name(setting: str) -> str:
    """What clients call the model: an alias or hub id as it is, of a path its last part."""
    path = Path(setting)
    if path.suffix.lower() == ".gguf":
        return path.stem
    return path.expanduser().resolve().name if path.expanduser().is_dir() else setting


async def _in_daemon_thread(work: Callable[[], T]) -> T:
    """Run `work` in a thread that does not keep the process alive, unlike an executor's."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if result.cancelled():
            return
        if error is not None:
            result.set_exception(error)
        else:
            result.set_result(value)  # type: ignore[arg-type]

    def run() -> None:
        value, error = None, None
        try:
            value = work()
        except BaseException as exc:
            error = exc
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=run, name="startup", daemon=True).start()
    return await result
