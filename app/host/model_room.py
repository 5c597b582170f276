"""Places and memory for models: which model leaves for another one, and why none can."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from app.config.sizes import format_size
from app.host.daemon_thread import in_daemon_thread
from app.host.served_model import ServedModel
from engine.api.errors import OutageError


class NoRoomError(OutageError):
    """There is no memory for another model now. The message has the numbers."""

    code = "no_memory_for_model"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRoom:
    """Bounds of the models in memory.

    most: most models in memory at once.
    places: most models on devices of a kind that one model has alone.
    free: returns the bytes of available memory. Blocks for a moment.
    """

    most: int
    places: Mapping[str, int]
    free: Callable[[], int]

    async def victim_for(self, model: ServedModel, resident: Sequence[ServedModel]) -> ServedModel | None:
        """Return the model that has to leave before `model` can be loaded; None if there is room.

        resident: the models in memory.

        The least recently used idle model leaves, or else the least recently used one. Raise NoRoomError if there would
        be no room even then.
        """
        needed = model.memory
        assert needed is not None, "the memory of a model is planned before its load"
        neighbours = [each for each in resident if each.kind == model.kind]
        free = await in_daemon_thread(self.free, "free-memory")
        has_place = len(neighbours) < self.places.get(model.kind, self.most)
        if has_place and len(resident) < self.most and needed.total <= free:
            return None
        may_leave = [each for each in (resident if has_place else neighbours) if not each.is_pinned]
        released = sum(each.memory.total for each in resident if not each.is_pinned and each.memory is not None)
        if not may_leave or needed.total > free + released:
            raise NoRoomError(self._why_no_room(model, free, resident))
        return min(may_leave, key=lambda each: (not each.is_idle, each.last_used))

    def _why_no_room(self, model: ServedModel, free: int, resident: Sequence[ServedModel]) -> str:
        pinned = ", ".join(each.name for each in resident if each.is_pinned)
        stays = f"; {pinned} stay in memory (--models-pinned)" if pinned else ""
        if model.memory is not None and model.memory.total <= free:
            return f"all places for models are taken (--models-max {self.most}){stays}"
        return f"it needs {model.memory}, and {format_size(free)} are available{stays}"
