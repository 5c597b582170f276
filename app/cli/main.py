"""The `ebb` command. Each subcommand imports its modules when it runs, so that `ebb --help` is fast."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from app.cli.bench_plan import API_KEY, BENCH_OPTIONS, BenchPlan
from app.cli.cache_options import CACHE_ACTIONS, CACHE_HELP, CACHE_SETTINGS
from app.cli.chat_plan import CHAT_OPTIONS, QUESTION, ChatPlan
from app.cli.keys_plan import (
    CREATE_HELP,
    CREATE_OPTIONS,
    KEY_ID,
    KEY_NAME,
    KEYS_HELP,
    LIMIT_OPTIONS,
    LIMITS_HELP,
    LIST_HELP,
    REVOKE_HELP,
    TENANT,
)
from app.cli.people_plan import (
    ADD_HELP,
    ADD_OPTIONS,
    PEOPLE_HELP,
    PEOPLE_LIST_HELP,
    PERSON_NAME,
    REMOVE_HELP,
    REMOVE_OPTIONS,
    REMOVED_PERSON,
    SET_PASSWORD_HELP,
)
from app.cli.server_settings import OF_THE_SERVER
from app.cli.standard_files import open_closed_files, with_output
from app.config.options import Option, any_path, any_text, did_you_mean, integer, parse_option, switch
from app.config.settings import OPTIONS, Settings, load_settings
from app.profile.plan import PROFILE_OPTIONS, ProfilePlan
from app.version import VERSION
from engine.api.errors import EbbError
from engine.device.choice import choose_device

CHAT_HELP = "talk to the running server in the terminal, or ask it one question"
RUNNING = ("host", "port")
"""Settings of the commands that talk to a running server."""
DOCTOR_HELP = "check this machine and say how to fix each problem"
DOCTOR_MODEL = Option("model", any_text, "MODEL", "model to check, in any form of --model, which it replaces")
DOCTOR_OPTIONS = (Option("security", switch, "", "check instead who has access to what"),)
BACKUP_HELP = "copy the conversations into a file; the server may keep running"
BACKUP_FILE = Option("file", any_path, "FILE", "file to write; an earlier backup of that name is replaced")
RESTORE_HELP = "replace the conversations with those of a backup; the replaced ones are kept in another file"
RESTORE_FILE = Option("file", any_path, "FILE", "backup to restore")
PULL_HELP = "download a model, after showing what it needs; without a name, list good small models"
PULL_NAME = Option("name", any_text, "NAME", "short name, hub id, hub-id:QUANTIZATION, or a .gguf file to convert")
PULL_OPTIONS = (Option("yes", switch, "", "do not ask before the download"),)
DATABASE = ("state-dir", "database-url")
"""Settings that say where the conversations are."""
PULL_SETTINGS = ("cache-dir", "device", "dtype", "quantization")
MIGRATE_HELP = "copy the conversations of the state directory into PostgreSQL, and compare both"
GROUPS = {"keys": KEYS_HELP, "people": PEOPLE_HELP}
ARGUMENT = "argument"
"""Destination of the positional argument in argparse: an option may have the argument's own name."""
DESKTOP_HELP = "show the page in a window of its own, of the running server or of one that ends with the window"
DRAIN_HELP = "restart a replica while the others continue its answers"
REPLICA = Option("replica", integer(0, 63), "REPLICA", "number of the replica, from 0")

EXAMPLES = """\
examples:
  ebb serve                                   serve the default model on http://127.0.0.1:8000
  ebb pull                                    list good small models, and which of them suits this machine
  ebb pull qwen3-1.7b                         show what a model needs, and download it
  ebb serve --model qwen3-1.7b                serve another model: a short name, hub id, folder or .gguf file
  ebb serve --kv-memory 2GiB --redis-url off  keep more chats on the device, and nothing in Redis
  ebb chat                                    talk to the running server in the terminal
  ebb chat "QUESTION" < notes.txt             ask one question about a file, and print the answer alone
  ebb desktop                                 show the page in a window, with a server that ends with it
  ebb doctor                                  check this machine and say how to fix each problem
  ebb doctor qwen3-1.7b                       check how this machine would serve a model
  ebb doctor --security                       check who has access to what under these settings
  ebb keys create alice                       create a key for alice; from then on the server requires keys
  ebb people add alice --admin                create a person who logs in with a password (ebb serve --passwords)
  ebb backup chats.db                         copy the conversations into one file; the server may keep running
  ebb cache verify                            read every KV block of the lower tiers and check that it is intact
  ebb cache plan                              say which tier should be larger, and what it brings
  ebb bench --streams 1,8                     measure how fast the running server is
  ebb profile --streams 32                    show where the time of a step goes, as a table and a Chrome trace

Each setting may come from a flag (--kv-memory 2GiB), a variable (EBB_KV_MEMORY=2GiB) or a TOML file
(--config FILE or EBB_CONFIG, with kv-memory = "2GiB"); flags override variables, and variables override the file.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status: 0 success, 1 failure, 2 an invalid command line or setting."""
    open_closed_files()
    # Only their owner may read files with chats, keys or KV, even those that a library creates.
    os.umask(0o077)
    return with_output(lambda: _main(argv))


def _main(argv: Sequence[str] | None) -> int:
    try:
        run, flags, config_file = _parse(argv)
        settings = load_settings(flags, config_file=config_file)
        if choose_device(settings.device) != "npu":
            # torch would load torch_npu, which fails without CANN, only to compute on another device.
            os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
        return run(settings)
    except EbbError as error:
        print(f"ebb: {error.message}", file=sys.stderr)
        return 2 if error.code == "invalid_setting" else 1
    except KeyboardInterrupt:
        return 130


class _Parser(argparse.ArgumentParser):
    """Argument parser with short errors that point to the help."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\nTry '{self.prog} --help'.\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Command:
    """One subcommand.

    name: the command's name; two words for a command of a group.
    settings: names of the settings that affect it.
    own: options of this command alone, whose values are passed to `run`.
    actions: choices, one of which must be given; passed to `run` as `action`.
    argument: the positional argument; None if there is none. needs_argument: whether it must be given.
    """

    name: str
    run: Callable[..., int]
    help: str
    settings: tuple[str, ...]
    own: tuple[Option, ...] = ()
    actions: tuple[str, ...] = ()
    argument: Option | None = None
    needs_argument: bool = True


def _commands() -> tuple[_Command, ...]:
    everything = tuple(option.name for option in OPTIONS)
    engine = tuple(name for name in everything if name not in OF_THE_SERVER)
    return (
        _Command(name="serve", run=_serve, help="run the server: API and web page", settings=everything),
        _Command(
            name="pull",
            run=_pull,
            help=PULL_HELP,
            settings=PULL_SETTINGS,
            own=PULL_OPTIONS,
            argument=PULL_NAME,
            needs_argument=False,
        ),
        _Command(
            name="chat",
            run=_chat,
            help=CHAT_HELP,
            settings=RUNNING,
            own=CHAT_OPTIONS,
            argument=QUESTION,
            needs_argument=False,
        ),
        _Command(name="desktop", run=_desktop, help=DESKTOP_HELP, settings=everything),
        _Command(name="drain", run=_drain, help=DRAIN_HELP, settings=RUNNING, own=(API_KEY,), argument=REPLICA),
        _Command(
            name="doctor",
            run=_doctor,
            help=DOCTOR_HELP,
            settings=everything,
            own=DOCTOR_OPTIONS,
            argument=DOCTOR_MODEL,
            needs_argument=False,
        ),
        _Command(name="backup", run=_backup, help=BACKUP_HELP, settings=DATABASE, argument=BACKUP_FILE),
        _Command(name="restore", run=_restore, help=RESTORE_HELP, settings=DATABASE, argument=RESTORE_FILE),
        _Command(
            name="bench",
            run=_bench,
            help="measure the running server as its clients see it",
            settings=RUNNING,
            own=BENCH_OPTIONS,
        ),
        _Command(
            name="cache", run=_cache, help=CACHE_HELP, settings=CACHE_SETTINGS, own=(API_KEY,), actions=CACHE_ACTIONS
        ),
        _Command(
            name="keys create",
            run=_keys_create,
            help=CREATE_HELP,
            settings=DATABASE,
            own=CREATE_OPTIONS,
            argument=KEY_NAME,
        ),
        _Command(name="keys list", run=_keys_list, help=LIST_HELP, settings=DATABASE),
        _Command(name="keys revoke", run=_keys_revoke, help=REVOKE_HELP, settings=DATABASE, argument=KEY_ID),
        _Command(
            name="keys limits",
            run=_keys_limits,
            help=LIMITS_HELP,
            settings=DATABASE,
            own=LIMIT_OPTIONS,
            argument=TENANT,
        ),
        _Command(
            name="people add", run=_people_add, help=ADD_HELP, settings=DATABASE, own=ADD_OPTIONS, argument=PERSON_NAME
        ),
        _Command(
            name="people remove",
            run=_people_remove,
            help=REMOVE_HELP,
            settings=DATABASE,
            own=REMOVE_OPTIONS,
            argument=REMOVED_PERSON,
        ),
        _Command(name="people list", run=_people_list, help=PEOPLE_LIST_HELP, settings=DATABASE),
        _Command(
            name="people set-password",
            run=_set_password,
            help=SET_PASSWORD_HELP,
            settings=DATABASE,
            argument=PERSON_NAME,
        ),
        _Command(name="migrate", run=_migrate, help=MIGRATE_HELP, settings=DATABASE),
        _Command(
            name="profile",
            run=_profile,
            help="record the steps of a separate engine under load",
            settings=engine,
            own=PROFILE_OPTIONS,
        ),
    )


def _parse(argv: Sequence[str] | None) -> tuple[Callable[[Settings], int], dict[str, str], str | None]:
    """Return the command to run, the given settings (name -> text), and the TOML file. Raise SettingsError."""
    parser = _Parser(
        prog="ebb",
        description="A self-hosted chat platform that never pays twice for the same tokens.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"ebb {VERSION}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    groups = {"": subparsers}
    for command in _commands():
        group = command.name.rpartition(" ")[0]
        if group not in groups:
            parser_of_group = subparsers.add_parser(group, help=GROUPS[group], allow_abbrev=False)
            groups[group] = parser_of_group.add_subparsers(metavar="COMMAND", required=True)
        _add_command(groups[group], command)
    given_name = next(iter(sys.argv[1:] if argv is None else argv), "-")
    if not given_name.startswith("-") and given_name not in subparsers.choices:
        parser.error(f"there is no command {given_name!r}{did_you_mean(given_name, subparsers.choices)}")
    known, unknown = parser.parse_known_args(argv)
    given = vars(known)
    chosen: _Command = given.pop("command")
    if unknown:
        names = (*(option.name for option in (*chosen.own, *OPTIONS)), "config", "help")
        guess = did_you_mean(unknown[0].partition("=")[0], [f"--{name}" for name in names])
        parser.error(f"unknown argument {unknown[0]}{guess}")
    config_file = given.pop("config", None)
    own = [option for option in chosen.own if option.name in given]
    values = dict(parse_option(option, given.pop(option.name), f"--{option.name}") for option in own)
    if chosen.actions:
        values["action"] = given.pop("action")
    argument = given.pop(ARGUMENT, None)
    if chosen.argument is not None and argument is not None:
        values |= [parse_option(chosen.argument, argument, chosen.argument.metavar)]
    return partial(chosen.run, **values), given, config_file


def _add_command(subparsers: "argparse._SubParsersAction[_Parser]", command: _Command) -> None:
    description = command.help[0].upper() + command.help[1:] + "."
    name = command.name.rpartition(" ")[2]
    parser = subparsers.add_parser(name, help=command.help, description=description, allow_abbrev=False)
    parser.set_defaults(command=command)
    if command.actions:
        parser.add_argument("action", choices=command.actions)
    if command.argument is not None:
        count = None if command.needs_argument else "?"
        parser.add_argument(ARGUMENT, nargs=count, metavar=command.argument.metavar, help=command.argument.help)
    parser.add_argument(
        "--config", metavar="FILE", default=argparse.SUPPRESS, help="path of the TOML file with settings"
    )
    for option in (*command.own, *OPTIONS):
        if option in command.own or option.name in command.settings:
            to_connect = command.settings == RUNNING and option.name in RUNNING
            _add(parser, replace(option, text=f"{option.name} of the server") if to_connect else option)


def _add(parser: argparse.ArgumentParser, option: Option) -> None:
    flag = f"--{option.name}"
    if option.metavar:
        parser.add_argument(flag, dest=option.name, metavar=option.metavar, default=argparse.SUPPRESS, help=option.help)
    else:
        parser.add_argument(
            flag, dest=option.name, action="store_const", const="true", default=argparse.SUPPRESS, help=option.help
        )


def _serve(settings: Settings) -> int:
    from app.host.listeners import Listeners
    from app.host.start_step import StartStep
    from app.host.supervisor import supervise

    def serve(listeners: Listeners, step: StartStep) -> int:
        from app.server import run_server

        return run_server(settings, listeners, on_step=step.report)

    return supervise(settings, serve)


def _pull(settings: Settings, **given: Any) -> int:
    from app.cli.pull import pull

    return pull(settings, **given)


def _bench(settings: Settings, **plan: Any) -> int:
    from app.cli.bench import bench

    return bench(settings, BenchPlan(**plan))


def _cache(settings: Settings, action: str, api_key: str | None = None) -> int:
    from app.cli.cache import cache

    return cache(settings, action, api_key)


def _profile(settings: Settings, **plan: Any) -> int:
    from app.profile.command import profile

    return profile(settings, ProfilePlan(**plan))


def _chat(settings: Settings, **given: Any) -> int:
    from app.cli.chat import chat

    return chat(settings, ChatPlan(resumes=given.pop("continue", False), **given))


def _desktop(settings: Settings) -> int:
    from app.cli.desktop import desktop

    return desktop(settings, _serve)


def _drain(settings: Settings, replica: int, api_key: str | None = None) -> int:
    from app.cli.drain import drain

    return drain(settings, replica, api_key)


def _doctor(settings: Settings, model: str | None = None, security: bool = False) -> int:
    from app.doctor.report import doctor, security_doctor

    settings = settings if model is None else replace(settings, model=model)
    return security_doctor(settings) if security else doctor(settings)


def _backup(settings: Settings, file: Path) -> int:
    from app.cli.backup import backup

    return backup(settings, file)


def _restore(settings: Settings, file: Path) -> int:
    from app.cli.backup import restore

    return restore(settings, file)


def _keys_create(settings: Settings, **given: Any) -> int:
    from app.cli.keys import create

    return create(settings, **given)


def _keys_list(settings: Settings) -> int:
    from app.cli.keys import list_keys

    return list_keys(settings)


def _keys_revoke(settings: Settings, key_id: str) -> int:
    from app.cli.keys import revoke

    return revoke(settings, key_id)


def _migrate(settings: Settings) -> int:
    from app.cli.migrate import migrate

    return migrate(settings)


def _people_add(settings: Settings, **given: Any) -> int:
    from app.cli.people import add

    return add(settings, **given)


def _people_remove(settings: Settings, name: str, **given: Any) -> int:
    from app.cli.people import remove

    return remove(settings, name, **given)


def _people_list(settings: Settings) -> int:
    from app.cli.people import list_people

    return list_people(settings)


def _set_password(settings: Settings, name: str) -> int:
    from app.cli.people import set_password

    return set_password(settings, name)


def _keys_limits(settings: Settings, tenant: str, **given: int | None) -> int:
    from app.cli.keys import limits

    return limits(settings, tenant, **given)
