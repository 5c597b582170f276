"""`python -m bench.agents`: share of a coding agent's prompts that comes from a tier, over a conversation of ten turns.

The real Claude Code and the real aider ask questions about a small project, each question in a separate process that
continues the conversation. Their system prompts and tools are their own. Between two turns, the user adds a file. Every
arm has its own server and state. The figures are tokens from the server's log, by request. The model has random
weights (see `bench.agents.model`), so the answers mean nothing and times are not measured.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from app.config.settings import load_settings
from bench.agents.conversation import CLIENTS, Conversation
from bench.agents.figures import MissingFiguresError, Result
from bench.agents.install import install_aider, install_claude_code
from bench.agents.model import write_model
from bench.agents.programs import AgentFailedError
from bench.agents.report import ARMS, KILLED, targets, to_markdown, write
from bench.ending import run_to_end
from bench.peers.workshop import PreparationError
from bench.server import ServerFailedError
from models.download.pull import pull_default

INSTALL: Final[Mapping[str, Callable[[Path], Path]]] = {"claude-code": install_claude_code, "aider": install_aider}


async def measure(conversations: Sequence[Conversation]) -> list[Result]:
    """Run the conversations one after another."""
    results: list[Result] = []
    for each in conversations:
        print(f"{each.client}, {each.arm}", file=sys.stderr, flush=True)
        results.append(await each.run())
    return results


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write agents.json and agents.md. Return 1 if a target is missed."""
    arguments = _parse(argv)
    cache_dir = load_settings({}).cache_dir
    arms = (KILLED,) if arguments.kill else tuple(ARMS)
    try:
        programs = {client: INSTALL[client](cache_dir) for client in arguments.client or CLIENTS}
        with tempfile.TemporaryDirectory(prefix="ebb-agents-", ignore_cleanup_errors=True) as root:
            model = write_model(pull_default(cache_dir, print), Path(root))
            places = ((client, arm) for client in programs for arm in arms)
            results = run_to_end(
                measure(
                    [
                        Conversation(client, arm, programs[client], model, Path(root) / f"{at}", arguments.bodies)
                        for at, (client, arm) in enumerate(places)
                    ]
                )
            )
    except (AgentFailedError, MissingFiguresError, PreparationError, ServerFailedError) as error:
        print(error, file=sys.stderr)
        return 1
    write(results, arguments.out)
    print(to_markdown(results), end="")
    return 0 if all(target.met for target in targets(results)) else 1


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.agents", description=__doc__)
    parser.add_argument("--client", choices=CLIENTS, action="append", help="only this client; may be repeated")
    parser.add_argument("--kill", action="store_true", help="only the arm in which the server is killed")
    parser.add_argument("--bodies", type=Path, help="keep the bodies of all requests in this folder")
    parser.add_argument("--out", type=Path, default=Path("bench/results"))
    return parser.parse_args(argv)


if __name__ == "__main__":
    raise SystemExit(main())
