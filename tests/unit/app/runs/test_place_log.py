"""The notes of the places of resumed runs, also on a disk that hangs."""

import os
from pathlib import Path
from threading import Thread

from app.runs.place_log import PlaceLog

PIPE_BYTES = 1 << 16


def note_many(places: PlaceLog) -> None:
    for number in range(20):
        places.note(f"run_{number}", number)


def test_next_process_reads_noted_places(tmp_path: Path) -> None:
    places = PlaceLog(tmp_path / "places")
    places.begin()
    places.note("run_a", 3)
    places.note("run_b", 5)
    assert PlaceLog(tmp_path / "places").read() == {"run_a": 3, "run_b": 5}
    places.close(clean=True)
    assert PlaceLog(tmp_path / "places").read() == {}


def test_file_that_hangs_stops_no_step_and_gets_every_note(tmp_path: Path) -> None:
    path = tmp_path / "places"
    os.mkfifo(path)
    disk = os.open(path, os.O_RDWR)
    os.write(disk, bytes(PIPE_BYTES))
    places = PlaceLog(path)
    places.begin()
    stepping = Thread(target=note_many, args=[places], daemon=True)
    stepping.start()
    stepping.join(2)
    assert not stepping.is_alive()
    os.read(disk, PIPE_BYTES)
    places.close(clean=False)
    assert os.read(disk, PIPE_BYTES).decode() == "".join(f"run_{number} {number}\n" for number in range(20))
    os.close(disk)


def test_folder_that_is_missing_costs_the_notes_only(tmp_path: Path) -> None:
    places = PlaceLog(tmp_path / "missing" / "places")
    places.begin()
    places.note("run_a", 3)
    places.close(clean=True)
    assert places.read() == {}
