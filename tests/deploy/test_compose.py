"""The Compose file, read by Docker Compose itself."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from app.config.settings import OPTIONS
from app.version import VERSION

ROOT = Path(__file__).parents[2]
FILE = ROOT / "deploy" / "compose.yaml"
COMPOSE = ROOT / ".make" / "deploy" / "bin" / "docker-compose"


def config(*arguments: str, **variables: str) -> Any:
    """Return the file as Docker Compose reads it."""
    command = [str(COMPOSE), "--file", str(FILE), *arguments, "config", "--format", "json"]
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **variables}
    environment["PYTHONPATH"] = str(ROOT / ".make" / "deploy")
    return json.loads(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def test_one_machine_has_a_server_and_a_redis() -> None:
    services = config()["services"]
    assert services.keys() == {"ebb", "redis"}
    server = services["ebb"]
    assert server["image"] == f"ebb:{VERSION}"
    assert server["depends_on"]["redis"]["condition"] == "service_healthy"
    assert {volume["target"] for volume in server["volumes"]} == {"/data", "/models"}


def test_server_is_published_on_this_machine_only() -> None:
    [port] = config()["services"]["ebb"]["ports"]
    assert (port["host_ip"], port["published"], port["target"]) == ("127.0.0.1", "8000", 8000)
    [port] = config(EBB_PUBLISH="0.0.0.0:80")["services"]["ebb"]["ports"]
    assert (port["host_ip"], port["published"]) == ("0.0.0.0", "80")


def test_settings_of_the_shell_reach_the_server() -> None:
    variables = config(EBB_MODEL="qwen", EBB_REPLICAS="2")["services"]["ebb"]["environment"]
    given = {name: value for name, value in variables.items() if value is not None}
    # Ebb refuses a setting with an empty value, so a setting that is not given must be absent.
    assert given == {"EBB_MODEL": "qwen", "EBB_REPLICAS": "2", "EBB_REDIS_URL": "redis://redis:6379"}
    assert variables.keys() <= {option.variable for option in OPTIONS}


def test_containers_have_no_more_rights_than_needed() -> None:
    server = config()["services"]["ebb"]
    assert server["read_only"]
    assert server["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in server["security_opt"]


def test_profile_adds_a_database() -> None:
    assert "postgres" in config("--profile", "postgres", POSTGRES_PASSWORD="x")["services"]
