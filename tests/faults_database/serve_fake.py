"""`ebb` with an engine that needs no model and says a word every few milliseconds, and with shorter limits.

python -m tests.faults_database.serve_fake serve ...
"""

import sys
from types import ModuleType
from typing import Final

from app import server
from app.cli.main import main
from app.storage import database as interface
from app.storage import readers
from app.storage.postgres import database, limits, listener
from engine.testing.replay_engine import ReplayEngine
from engine.testing.script import NumberedWords

WORD_SECONDS: Final = 0.02
ANSWER_WORDS: Final = 40
WINDOW: Final = 1 << 16


SHORTER: Final[dict[ModuleType, dict[str, float]]] = {
    database: {"TRANSACTION_SECONDS": 1.5},
    limits: {"CONNECT_SECONDS": 1},
    listener: {"CONNECT_SECONDS": 1, "ALIVE_SECONDS": 1.0, "ANSWER_SECONDS": 1.0},
    interface: {"READ_SECONDS": 2.0, "BEGIN_SECONDS": 2.0, "WRITE_SECONDS": 6.0},
    readers: {"WAIT_SECONDS": 2.0, "STUCK_SECONDS": 1.0},
}
"""Limits of a second instead of half a minute."""


if __name__ == "__main__":
    if sys.argv[1] == "short":
        del sys.argv[1]
        for module, values in SHORTER.items():
            vars(module).update(values)
    vars(server)["engine_builder"] = lambda *_, **__: (
        lambda _: (
            ReplayEngine(NumberedWords(ANSWER_WORDS), pace=WORD_SECONDS, window=WINDOW),
            "identity",
        )
    )
    sys.exit(main())
