"""Order in which functions of the product are first called, over all threads."""

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parents[1]
_PREFIXES = tuple(f"{ROOT / package}/" for package in ("app", "engine", "cache_tiers", "models"))

Function = tuple[str, str]
"""Path below ROOT, and qualified name."""


class Walk:
    """Functions in the order of their first calls."""

    def __init__(self) -> None:
        self._seen: dict[Function, None] = {}

    def note(self, file: str, name: str) -> None:
        """Note a call, from any thread."""
        self._seen.setdefault((file.removeprefix(f"{ROOT}/"), name))

    def files(self, *, without: "Walk") -> set[str]:
        """Return the paths of the files that ran functions which another walk did not see."""
        return {path for path, _ in self._seen.keys() - without._seen.keys()}

    def has_seen(self, *names: str) -> bool:
        """Return whether functions with all these names were called."""
        return {name for _, name in list(self._seen)}.issuperset(names)

    def missing(self, stations: Sequence[Function]) -> list[Function]:
        """Return the stations that were not called first after all stations before them."""
        places = {called: place for place, called in enumerate(self._seen)}
        last, missing = -1, []
        for station in stations:
            place = places.get(station, -1)
            if place <= last:
                missing.append(station)
            last = max(last, place)
        return missing


class Walker:
    """Recorder of walks in this thread and in those that start within `follow_threads`."""

    def __init__(self) -> None:
        self._walk: Walk | None = None

    @contextmanager
    def follow_threads(self) -> Iterator[None]:
        """Follow the threads that start within the block."""
        threading.setprofile(self._note)
        try:
            yield
        finally:
            threading.setprofile(None)

    @contextmanager
    def record(self) -> Iterator[Walk]:
        """Record a walk while the block runs."""
        self._walk = walk = Walk()
        sys.setprofile(self._note)
        try:
            yield walk
        finally:
            sys.setprofile(None)
            self._walk = None

    def _note(self, frame: FrameType, event: str, _argument: object) -> None:
        walk, code = self._walk, frame.f_code
        if walk is not None and event == "call" and code.co_filename.startswith(_PREFIXES):
            walk.note(code.co_filename, code.co_qualname)
