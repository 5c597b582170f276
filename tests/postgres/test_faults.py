"""Some ways in which a database breaks below two servers, with engines without a model (`make faults-database`)."""

from pathlib import Path

from tests.faults_database.faults import FAULTS
from tests.faults_database.play import Pace, Play
from tests.faults_database.stage import TOPOLOGIES, stage

SOME = ("backend killed", "black hole", "COMMITs lost", "standby for a moment")


async def test_broken_database_loses_doubles_and_blocks_nothing(tmp_path: Path) -> None:
    [two] = [each for each in TOPOLOGIES if each.name == "two servers"]
    async with stage(two, tmp_path) as made:
        play = Play(made, Pace(before=1.0, after=1.0))
        await play.begin()
        for number, name in enumerate(SOME):
            outcome = await play.play(name, FAULTS[name], number)
            assert not outcome.defects
            # Streams do not wait for the database. The limit is for machines that are busy with other tests.
            assert outcome.gap < 3.0
