"""The Compose file, read by Docker Compose itself."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from app.config.settings import OPTIONS
from app.version import VERSION

ROOT = Path(__file__).parents[2]
FILE = ROOT / "deploy" / "compose.yaml"
COMPOSE = ROOT / ".make" / "deploy" / "compose" / "docker-compose"


FLEET = ("--file", str(FILE.with_suffix(".fleet.yaml")))


def config(*arguments: str, **variables: str) -> Any:
    """Return the file, and those that the arguments add, as Docker Compose reads it."""
    command = [str(COMPOSE), "--file", str(FILE), *arguments, "config", "--format", "json"]
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **variables}
    return json.loads(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def test_one_machine_has_a_server_and_a_redis() -> None:
    services = config()["services"]
    assert services.keys() == {"ebb", "redis"}
    server = services["ebb"]
    assert server["image"] == f"ebb:{VERSION}"
    assert server["depends_on"]["redis"]["condition"] == "service_healthy"
    assert {volume["target"] for volume in server["volumes"]} == {"/data", "/models", "/kv"}
    assert server["environment"]["EBB_DISK_KV_DIR"] == "/kv"
    sized = config(EBB_DISK_KV_SIZE="5GiB")["services"]["ebb"]["environment"]
    assert (server["environment"]["EBB_DISK_KV_SIZE"], sized["EBB_DISK_KV_SIZE"]) == ("20GiB", "5GiB")


def test_server_is_published_on_this_machine_only() -> None:
    [port] = config()["services"]["ebb"]["ports"]
    assert (port["host_ip"], port["published"], port["target"]) == ("127.0.0.1", "8000", 8000)
    [port] = config(EBB_PUBLISH="0.0.0.0:80")["services"]["ebb"]["ports"]
    assert (port["host_ip"], port["published"]) == ("0.0.0.0", "80")


def test_settings_of_the_shell_reach_the_server() -> None:
    variables = config(EBB_MODEL="qwen", EBB_REPLICAS="2")["services"]["ebb"]["environment"]
    given = {name: value for name, value in variables.items() if value is not None}
    # Ebb refuses a setting with an empty value, so a setting that is not given must be absent.
    disk = {"EBB_DISK_KV_DIR": "/kv", "EBB_DISK_KV_SIZE": "20GiB"}
    assert given == {"EBB_MODEL": "qwen", "EBB_REPLICAS": "2", "EBB_REDIS_URL": "redis://redis:6379"} | disk
    assert variables.keys() <= {option.variable for option in OPTIONS}


def test_containers_have_no_more_rights_than_needed() -> None:
    server = config()["services"]["ebb"]
    assert server["read_only"]
    assert server["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in server["security_opt"]


def test_profile_adds_a_database() -> None:
    assert "postgres" in config("--profile", "postgres", POSTGRES_PASSWORD="x")["services"]


def test_servers_of_a_fleet_share_database_redis_and_secret() -> None:
    services = config(*FLEET, POSTGRES_PASSWORD="x")["services"]
    assert services.keys() == {"ebb", "redis", "postgres", "nginx"}
    server = services["ebb"]
    assert server["deploy"]["replicas"] == 2
    assert server["environment"]["EBB_DATABASE_URL"] == "postgresql://ebb:x@postgres/ebb"
    assert server["environment"]["EBB_SECRET_FILE"] == server["secrets"][0]["target"]
    assert server["environment"].keys() <= {option.variable for option in OPTIONS}
    # A shared state directory would admit one server only.
    assert [volume["target"] for volume in server["volumes"]] == ["/models", "/kv"]
    assert any(each.startswith("/data:") for each in server["tmpfs"])


def test_only_the_balancer_of_a_fleet_is_published() -> None:
    services = config(*FLEET, POSTGRES_PASSWORD="x")["services"]
    assert {name for name, service in services.items() if service.get("ports")} == {"nginx"}
    configuration = (FILE.parent / "nginx.conf").read_text()
    assert f"http://ebb:{services['ebb']['expose'][0]};" in configuration


def test_fleet_without_a_password_is_refused_naming_it() -> None:
    with pytest.raises(subprocess.CalledProcessError) as caught:
        config(*FLEET)
    assert "POSTGRES_PASSWORD" in caught.value.stderr
