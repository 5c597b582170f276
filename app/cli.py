"""The `ebb` command. Each subcommand imports what it needs when it runs, so that `ebb --help` answers at once."""

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from app.config import OPTIONS, Settings, load_settings
from app.options import Option, did_you_mean
from app.version import VERSION
from engine.errors import EbbError

EXAMPLES = """\
examples:
  ebb serve                                   the default model on http://127.0.0.1:8000
  ebb serve --model ~/models/openpangu        another model: a folder, .gguf file or hub id
  ebb serve --kv-memory 2GiB --redis-url off  more device memory for chats, nothing in Redis
  ebb chat                                    talk to the running server, in the terminal
  ebb doctor                                  what was found on this machine, what to do about the rest

Each setting may come from a flag (--kv-memory 2GiB), a variable (EBB_KV_MEMORY=2GiB) or a TOML file
(--config FILE or EBB_CONFIG, with kv-memory = "2GiB"); flags win over variables, variables over the file.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0 fine, 1 it failed, 2 the command line or a setting is wrong."""
    command, flags, config_file = _parse(argv)
    try:
        return command(load_settings(flags, config_file=config_file))
    except EbbError as error:
        print(f"ebb: {error.message}", file=sys.stderr)
        return 2 if error.code == "invalid_setting" else 1
    except KeyboardInterrupt:
        return 130


class _Parser(argparse.ArgumentParser):
    """argparse, but short about what is wrong and where help is."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\nTry '{self.prog} --help'.\n")


Command = Callable[[Settings], int]


def _parse(argv: Sequence[str] | None) -> tuple[Command, dict[str, str], str | None]:
    """The command to run, the flags that were given (name -> text), and the TOML file."""
    parser = _Parser(
        prog="ebb",
        description="A self-hosted chat platform that never pays twice for the same tokens.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"ebb {VERSION}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    everything = tuple(option.name for option in OPTIONS)
    for name, run, text, options in (
        ("serve", _serve, "run the server: API and web page", everything),
        ("pull", _pull, "fetch and convert a model, without starting anything", ("model", "cache-dir")),
        ("chat", _chat, "talk to the running server in the terminal", ("host", "port")),
        ("doctor", _doctor, "say what was found on this machine, and what to do about what was not", everything),
    ):
        description = text[0].upper() + text[1:] + "."
        subparser = commands.add_parser(name, help=text, description=description, allow_abbrev=False)
        subparser.set_defaults(command=run)
        subparser.add_argument("--config", metavar="FILE", default=argparse.SUPPRESS, help="TOML file with settings")
        for option in OPTIONS:
            if option.name in options:
                _add(subparser, option)
    known, unknown = parser.parse_known_args(argv)
    if unknown:
        flags = [f"--{name}" for name in (*everything, "config", "help")]
        parser.error(f"unknown argument {unknown[0]}{did_you_mean(unknown[0].partition('=')[0], flags)}")
    given = vars(known)
    command: Command = given.pop("command")
    return command, given, given.pop("config", None)


def _add(parser: argparse.ArgumentParser, option: Option) -> None:
    flag = f"--{option.name}"
    if option.metavar:
        parser.add_argument(flag, dest=option.name, metavar=option.metavar, default=argparse.SUPPRESS, help=option.help)
    else:
        parser.add_argument(
            flag, dest=option.name, action="store_const", const="true", default=argparse.SUPPRESS, help=option.help
        )


def _serve(settings: Settings) -> int:
    from app.server import run_server

    return run_server(settings)


def _pull(settings: Settings) -> int:
    from models.errors import ModelError
    from models.resolve import resolve_model

    try:
        folder = resolve_model(
            settings.model, settings.cache_dir, lambda line: print(line, file=sys.stderr, flush=True)
        )
    except ModelError as error:
        print(f"ebb: {error}", file=sys.stderr)
        return 1
    print(folder)
    return 0


def _chat(settings: Settings) -> int:
    from app.chat import chat

    return chat(settings)


def _doctor(settings: Settings) -> int:
    from app.doctor import doctor

    return doctor(settings)
