"""A database that breaks in every way below every kind of servers, while people chat.

Nothing that was confirmed is lost or there twice, everything works again 30 s after the fault, and streams that need no
database do not pause. FAULTS and SERVERS choose some, by words of their names.
"""

import os
from pathlib import Path

from tests.faults_database.faults import FAULTS
from tests.faults_database.play import HEAD, Outcome, Pace, Play
from tests.faults_database.stage import TOPOLOGIES, stage


def is_chosen(variable: str, name: str) -> bool:
    """Return whether a variable of the environment has a part of a name, or is not set."""
    return any(each.strip() in name for each in os.environ.get(variable, "").split(","))


async def test_nothing_is_lost_doubled_or_blocked(tmp_path: Path, shallow_model: Path) -> None:
    outcomes: list[Outcome] = []
    for topology in TOPOLOGIES:
        if not is_chosen("SERVERS", topology.name):
            continue
        folder = tmp_path / topology.name.replace(" ", "-")
        folder.mkdir()
        async with stage(topology, folder, shallow_model) as made:
            play = Play(made, Pace())
            await play.begin()
            for number, (name, strike) in enumerate(FAULTS.items()):
                if is_chosen("FAULTS", name):
                    outcomes.append(await play.play(name, strike, number))
                    print(outcomes[-1].row, *outcomes[-1].defects, sep="\n", flush=True)
    print("\n" + "\n".join([HEAD, *(each.row for each in outcomes)]))
    assert not [defect for each in outcomes for defect in each.defects]
    # Other work on the machine makes gaps too. The pause of the machine, in the table, tells them apart.
    assert max(each.gap for each in outcomes) <= 1.0
    assert max(each.slowest for each in outcomes) <= 30.0
