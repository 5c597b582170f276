"""Checks of `ebb doctor`. Each returns a finding and changes nothing on the machine."""

import asyncio
import importlib
import os
import shutil
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import torch

from app.access.counted_keys import counted_keys
from app.client.chat_client import ChatClient, NoServerError
from app.config.extras import install_command
from app.config.parsers import place_of
from app.config.settings import Settings
from app.config.sizes import format_size
from app.doctor.directory_check import check_directory
from app.doctor.disk_check import check_disk
from app.doctor.draft_check import check_draft_model
from app.doctor.finding import Finding
from app.doctor.format_check import check_formats
from app.doctor.memory_plan import plan_memory
from app.doctor.models_check import check_models
from app.doctor.network_check import check_network, network_of, why_not_native
from app.doctor.npu_checks import check_npu
from app.doctor.ray_check import check_ray
from app.doctor.rerank_check import check_rerank
from app.doctor.shared_replicas_check import check_shared_replicas
from app.doctor.tls_checks import check_tls
from app.host.suitable_model import suitable
from app.storage.errors import DatabaseError, UnusableDatabaseError
from app.storage.sqlite.migrating import migrations, schema_of, too_new
from app.storage.sqlite.restoration import is_restore_pending
from app.storage.sqlite.snapshot import quick_check
from app.transport.tls import own_certificate
from cache_tiers.disk.space import existing_part
from cache_tiers.redis.address import parse_redis_url
from cache_tiers.redis.errors import RedisError
from cache_tiers.redis.resp import RespConnection, Timeouts
from cache_tiers.redis.server_binary import find_redis_server
from engine.api.errors import EbbError, EngineError
from engine.attention.backend import AttentionSpec
from engine.attention.selector import load_backend, select_backend
from engine.cpu.build import COMPILERS, kept_kernels
from engine.cpu.instruction_set import choose_instruction_set
from engine.cpu.pack_folder import PackFolder
from engine.device.choice import block_size_for, choose_device
from engine.kv.budget import redis_budget
from engine.worker.host_resources import available_memory
from engine.worker.torch.devices import open_device
from models.download.resolve import check_name, find_model, local_gguf
from models.errors import ModelError
from models.registry import ENCODER

STATIC = Path(__file__).parents[1] / "static"

CHECK_SECONDS = 10.0
"""Maximum time spent on examining the database."""


def check_python(_settings: Settings) -> Finding:
    """Check the version of Python."""
    text = sys.version.split()[0]
    if (3, 11) <= sys.version_info[:2] < (3, 15):
        return Finding("ok", "python", text)
    return Finding(
        "fail", "python", f"{text} is not supported", "install a Python from 3.11 to 3.14 and run `make setup` again"
    )


def check_device(settings: Settings) -> Finding:
    """Check the device that torch computes on, unless that of other machines does."""
    name = choose_device(settings.device)
    if _computes_elsewhere(settings):
        return Finding("ok", "device", f"{name}, on the machines of the Ray cluster: see ray below")
    try:
        device = open_device(name)
    except EngineError as error:
        look = "see npu below" if name == "npu" else "check that nvidia-smi finds it, then run `make setup DEVICE=cuda`"
        return Finding("fail", "device", error.message, f"{look}, or start with --device cpu")
    if name != "cpu":
        memory = format_size(device.available_memory())
        return Finding("ok", "device", f"torch {torch.__version__}, {device.instruction_set()}, {memory} free")
    text = f"torch {torch.__version__}, {torch.get_num_threads()} threads, {device.instruction_set()}"
    if torch.accelerator.is_available():
        found = torch.accelerator.current_accelerator()
        return Finding("ok", "device", f"{text}; {found} is available: use it with --device {found}")
    return Finding("ok", "device", text)


def _computes_elsewhere(settings: Settings) -> bool:
    """Return whether devices of a Ray cluster compute, which this machine need not have."""
    return bool(settings.ray_address) and choose_device(settings.device) != "cpu"


def check_attention(settings: Settings) -> Finding:
    """Check which attention backend is selected, and report why other backends for this device are not."""
    folder = find_model(settings.model, settings.cache_dir)
    if folder is None:
        return Finding("ok", "attention", "depends on the model, which is not ready yet")
    device = choose_device(settings.device)
    try:
        network = network_of(settings, folder)
        if network.code == ENCODER:
            return Finding("ok", "attention", "over whole texts, in torch: the model is an encoder")
        spec = AttentionSpec(device, getattr(torch, settings.dtype), network.attention, block_size_for(device))
        selection = select_backend(spec, settings.attention)
        is_native = why_not_native(settings, folder, network) is None
    except EngineError as error:
        return Finding("fail", "attention", error.message, "choose another --attention, or omit the option")
    except ModelError as error:
        return Finding("warn", "attention", str(error), "choose another --model, or run `ebb pull NAME` again")
    if is_native:
        return Finding("ok", "attention", "computed by the native step")
    of_device = [given for given in selection.passed_over if device in load_backend(given[0]).support.devices]
    return Finding("ok", "attention", "; ".join((selection.name, *(f"not {name}: {why}" for name, why in of_device))))


def check_compiler(settings: Settings) -> Finding:
    """Check for a C++ compiler, which builds the kernels on the machine that runs them."""
    for name in COMPILERS:
        found = shutil.which(name)
        if found is not None:
            return Finding("ok", "compiler", found)
    # `check_network` reports an instruction set that this CPU does not have.
    with suppress(EngineError):
        if kept_kernels(choose_instruction_set(settings.cpu_kernels), settings.cache_dir) is not None:
            return Finding("ok", "compiler", "none found, but an earlier start has compiled the kernels")
    found = "no C++ compiler found: the model runs in torch, which takes 2 to 4 times as long"
    return Finding("warn", "compiler", found, "install g++ or clang++")


def check_lmcache(_settings: Settings) -> Finding:
    """Check that LMCache, if it is installed, can be imported with this torch: its binary parts need one version."""
    if find_spec("lmcache") is None:
        return Finding("ok", "lmcache", "not installed: Ebb's own store manages CPU memory")
    try:
        importlib.import_module("cache_tiers.cpu_store.open_store")
    except Exception as error:  # whatever a foreign library raises while it is imported
        reason = f"cannot be imported: {type(error).__name__}: {error}"
        return Finding("fail", "lmcache", reason, "run `make setup` again, or start with --no-prefix-cache")
    return Finding("ok", "lmcache", version("lmcache"))


def check_redis(settings: Settings) -> Finding:
    """Check the server of the Redis tier."""
    if settings.redis_url == "off":
        return Finding("ok", "redis", "off")
    if settings.redis_url == "auto":
        binary = find_redis_server()
        if binary is not None:
            size = redis_budget(settings.redis_memory, available_memory())
            return Finding("ok", "redis", f"companion of {format_size(size)} from {binary}")
        advice = "install redis-server or valkey-server, or set --redis-url"
        return Finding("warn", "redis", "no server found: the tier is off", advice)
    try:
        address = parse_redis_url(settings.redis_url)
        connection = RespConnection(address, Timeouts(connect=2.0))
        try:
            connection.start_exchange()
            connection.call(b"PING")
        finally:
            connection.close()
    except (RedisError, OSError) as error:
        advice = "start it or correct --redis-url; until then the tier is off"
        return Finding("warn", "redis", f"the server does not answer: {error}", advice)
    return Finding("ok", "redis", f"{address} answers")


def check_model(settings: Settings) -> Finding:
    """Check whether the model is on this machine."""
    folder = find_model(settings.model, settings.cache_dir)
    if folder is not None:
        return Finding("ok", "model", f"{settings.model} in {folder}")
    if local_gguf(settings.model) is not None:
        return Finding("ok", "model", f"{settings.model}, which the first `ebb serve` converts")
    try:
        check_name(settings.model)
    except ModelError as error:
        return Finding("fail", "model", str(error), "choose another --model, or make it readable for Ebb's user")
    advice = f"`ebb pull {settings.model}` downloads it now, `ebb serve` when it starts"
    return Finding("warn", "model", f"{settings.model} is not on this machine yet", advice)


def check_catalogue(settings: Settings) -> Finding:
    """Name the model of the catalogue that suits this machine."""
    try:
        return Finding("ok", "catalogue", f"of the models that `ebb pull` lists, {suitable(settings).sentence()}")
    except EngineError:
        return Finding("ok", "catalogue", "`ebb pull` lists good small models")


def check_memory(settings: Settings) -> Finding:
    """Compare the memory plan with the free memory of the host, and of a device with its own memory."""
    host = open_device("cpu").available_memory()
    name = choose_device(settings.device)
    if _computes_elsewhere(settings):
        return Finding("ok", "memory", "that of the machines of the Ray cluster, which is not checked here")
    try:
        device = None if name == "cpu" else open_device(name).available_memory()
    except EngineError:
        return Finding("warn", "memory", f"unknown without a {name} device")
    folder = find_model(settings.model, settings.cache_dir)
    try:
        plan = plan_memory(settings, folder, free=host if device is None else device, host_free=host)
    except EngineError as error:
        return Finding("fail", "memory", error.message, "choose another --cpu-kernels, or omit the option")
    except ModelError as error:
        return Finding("fail", "memory", str(error), "choose another --model, or run `ebb pull NAME` again")
    if plan.loading > max(plan.weights, host):
        text = f"the weights take {format_size(plan.loading)} of {format_size(host)} free until they are quantized"
        return Finding("fail", "memory", text, "choose another --model, or a GGUF file, which is quantized already")
    weights, pool = ("weights", plan.weights), ("device pool", plan.device_pool)
    below = (
        *(("CPU tier", plan.cpu_pool), ("sealing", plan.sealing)),
        *(("Redis", plan.redis), ("phrases", plan.phrases)),
    )
    if device is None:
        return _compare((weights, pool, *below), host, at_start=plan.at_start)
    on_device = _compare((weights, pool), device, at_start=plan.weights + plan.device_pool)
    on_host = _compare(below, host, at_start=plan.cpu_pool + plan.sealing)
    worse = on_device if on_device.level != "ok" else on_host
    return Finding(worse.level, "memory", f"{name}: {on_device.text}; host: {on_host.text}", worse.advice)


def _compare(parts: Sequence[tuple[str, int]], free: int, *, at_start: int) -> Finding:
    """Compare `parts` with the `free` bytes. Redis and phrases grow later, so `at_start` bytes leave them out."""
    total = sum(nbytes for _, nbytes in parts)
    text = " + ".join(f"{name} {format_size(nbytes)}" for name, nbytes in parts if nbytes)
    text += f" = {format_size(total)} of {format_size(free)} free"
    if at_start > free:
        return Finding("fail", "memory", text, "lower --kv-memory or --cpu-kv-memory, or choose another --model")
    if total > free:
        return Finding(
            "warn", "memory", text, "once all of it is full, the machine will swap: lower --redis-memory or --kv-memory"
        )
    return Finding("ok", "memory", text)


def check_web(_settings: Settings) -> Finding:
    """Check whether the page was built."""
    if (STATIC / "index.html").is_file():
        return Finding("ok", "web page", "built")
    return Finding("warn", "web page", "not built: the API works, the page does not", "run `make setup`")


def check_state_dir(settings: Settings) -> Finding:
    """Check the directory of the chats."""
    return _directory("state-dir", settings.state_dir)


def check_conversations(settings: Settings) -> Finding:
    """Look for damage in the database, for at most CHECK_SECONDS."""
    if settings.database_url:
        return _check_postgres(settings)
    file = settings.database
    if is_restore_pending(file):
        return Finding("warn", "chats", f"a restore of {file} was not completed", "start ebb serve, which completes it")
    if not file.exists():
        return Finding("ok", "chats", "none yet")
    version, newest = schema_of(file), len(migrations())
    if version > newest:
        advice = "start the later version of Ebb, or restore a backup of this one: ebb restore FILE"
        return Finding("fail", "chats", too_new(file, version, newest), advice)
    try:
        faults = quick_check(file, CHECK_SECONDS)
    except DatabaseError as error:
        faults = [str(error)]
    if faults is None:
        some = f"no damage found in {CHECK_SECONDS:g} s; the file is too large to be checked completely in that time"
        return Finding("ok", "chats", some)
    if faults:
        advice = "stop the server and restore a backup: ebb restore FILE"
        return Finding("fail", "chats", f"{file} is damaged: {faults[0]}", advice)
    size = format_size(file.stat().st_size)
    if 0 < version < newest:
        text = f"{size}, no damage; the start upgrades them, and earlier versions of Ebb can no longer open them then"
        return Finding("warn", "chats", text, "back them up first: ebb backup FILE")
    return Finding("ok", "chats", f"{size}, no damage")


def _check_postgres(settings: Settings) -> Finding:
    place = place_of(settings.database_url)
    try:
        from app.storage.postgres.database import check_database

        is_earlier = check_database(settings.database_url)
        counted_keys(settings)
    except UnusableDatabaseError as error:
        return Finding("fail", "chats", str(error), "do that, or correct --database-url")
    except EbbError as error:
        return Finding("fail", "chats", error.message, "correct --database-url, or start PostgreSQL")
    except ImportError:
        return Finding("fail", "chats", "--database-url needs psycopg", install_command("postgres"))
    if is_earlier:
        text = f"PostgreSQL at {place} answers; the start upgrades it, and earlier versions of Ebb cannot use it then"
        return Finding(
            "warn", "chats", text, "back it up first with pg_dump, and stop the servers of the earlier version"
        )
    return Finding("ok", "chats", f"PostgreSQL at {place} answers")


def check_cache_dir(settings: Settings) -> Finding:
    """Check the directory of the models, and count the packed weights there."""
    finding = _directory("cache-dir", settings.cache_dir)
    folder = PackFolder(settings.cache_dir, settings.packed_size)
    if finding.level != "ok" or not (packs := folder.packs()):
        return finding
    used = sum(pack.nbytes for pack in packs)
    sizes = f"{format_size(used)} of {format_size(folder.bound(used))}"
    return replace(finding, text=f"{finding.text}; packed weights take {sizes}")


def _directory(name: str, path: Path) -> Finding:
    # The nearest existing parent decides whether the rest can be created.
    place = existing_part(path)
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        return Finding("fail", name, f"{place} is not writable", f"change its permissions, or choose another --{name}")
    free = format_size(shutil.disk_usage(place).free)
    return Finding("ok", name, f"{path}, {free} free on its disk")


def check_port(settings: Settings) -> Finding:
    """Check whether the ports are free, or served by Ebb already."""
    for name, port in settings.ports.items():
        address, reason = f"{settings.host}:{port}", _why_taken(settings.host, port)
        if reason is None:
            continue
        if name == "port" and asyncio.run(_is_ebb(settings)):
            return Finding("ok", "port", f"Ebb is already serving on {address}")
        advice = f"stop the program that listens there, or choose another --{name}"
        return Finding("fail", "port", f"{address}: {reason}", advice)
    addresses = ", ".join(f"{settings.host}:{port}" for port in settings.ports.values())
    return Finding("ok", "port", f"{addresses}: free")


def _why_taken(host: str, port: int) -> str | None:
    """Return why a server could not listen on a port; None if it could."""
    try:
        kind, _, _, _, target = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(kind, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(target)
    except OSError as error:
        return error.strerror or str(error)
    return None


async def _is_ebb(settings: Settings) -> bool:
    async with ChatClient(settings.client_url, tls=own_certificate(settings)) as client:
        try:
            return "tiers" in await client.health()
        except NoServerError:
            return False


CHECKS = (
    check_python,
    check_device,
    check_npu,
    check_network,
    check_attention,
    check_compiler,
    check_redis,
    check_disk,
    check_lmcache,
    check_model,
    check_draft_model,
    check_catalogue,
    check_formats,
    check_rerank,
    check_memory,
    check_models,
    check_web,
    check_state_dir,
    check_conversations,
    check_cache_dir,
    check_port,
    check_tls,
    check_directory,
    check_ray,
    check_shared_replicas,
)
