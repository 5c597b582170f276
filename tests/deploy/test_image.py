"""The image: its Containerfile, the health check, and the scripts that its stages run."""

import os
import re
import shutil
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from app.config.settings import OPTIONS
from app.version import VERSION

ROOT = Path(__file__).parents[2]
CONTAINERFILE = ROOT / "deploy" / "Containerfile"
HEALTHCHECK = ROOT / "deploy" / "healthcheck.py"
TOOLS = ROOT / ".make" / "deploy" / "bin"


def last_stage() -> list[str]:
    """Return the instructions of the stage that becomes the image, each on one line."""
    lines = re.sub(r"^#.*\n", "", CONTAINERFILE.read_text(), flags=re.MULTILINE).replace("\\\n", " ").splitlines()
    first = max(at for at, line in enumerate(lines) if line.startswith("FROM"))
    return [line for line in lines[first:] if line]


def test_hadolint_finds_nothing_in_the_containerfile() -> None:
    done = subprocess.run([TOOLS / "hadolint", CONTAINERFILE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_server_runs_without_root_under_tini() -> None:
    stage = last_stage()
    assert 'ENTRYPOINT ["tini", "--", "ebb"]' in stage
    assert "USER 10001:10001" in stage
    assert 'VOLUME ["/data", "/models"]' in stage
    assert any(line.startswith("HEALTHCHECK") for line in stage)


def test_variables_of_the_image_are_settings() -> None:
    [variables] = [line for line in last_stage() if line.startswith("ENV")]
    found = set(re.findall(r"(EBB_\w+)=", variables))
    assert {"EBB_HOST", "EBB_PORT", "EBB_STATE_DIR", "EBB_CACHE_DIR"} == found
    assert found <= {option.variable for option in OPTIONS}


def test_every_copied_file_is_in_the_context() -> None:
    kept = {line[1:] for line in Path(f"{CONTAINERFILE}.containerignore").read_text().splitlines() if line[0] == "!"}
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", CONTAINERFILE.read_text(), flags=re.MULTILINE)
    for source in (name for line in copied for name in line.split() if name != "."):
        assert (ROOT / source).exists(), source
        assert source in kept or source.partition("/")[0] in kept, source
    for source in kept:
        assert (ROOT / source).exists(), source
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    assert {source.strip("/") for source in build["sdist"]["include"]} <= kept


@pytest.fixture
def statuses() -> Iterator[tuple[int, list[str]]]:
    """Server that answers with 200, its port, and the paths that it was asked for."""
    asked: list[str] = []

    class Health(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Health) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1], asked
        server.shutdown()
        thread.join()


def checked(port: int) -> int:
    command = [sys.executable, str(HEALTHCHECK)]
    environment = {**os.environ, "EBB_PORT": str(port)}
    return subprocess.run(command, env=environment, capture_output=True, check=False).returncode


def test_health_check_fails_only_without_an_answer(statuses: tuple[int, list[str]]) -> None:
    port, asked = statuses
    assert checked(port) == 0
    assert asked == ["/health"]
    assert checked(1) != 0


def test_build_image_hands_choices_to_the_builder(tmp_path: Path) -> None:
    """Run the script with a builder that only prints its arguments."""
    builder = tmp_path / "buildah"
    builder.write_text('#!/bin/sh\necho "$@"\n')
    builder.chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "DEVICE": "cuda",
        "EXTRAS": "ray",
        "BUILD_ARGS": "--layers --no-cache",
    }
    script = ROOT / "scripts" / "build-image"
    done = subprocess.run([script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == (
        f"build --file deploy/Containerfile --tag ebb:{VERSION} --ignorefile deploy/Containerfile.containerignore "
        "--format docker --build-arg DEVICE=cuda --build-arg EXTRAS=ray --layers --no-cache ."
    )


def test_build_image_names_the_builders_if_there_is_none(tmp_path: Path) -> None:
    for tool in ("sed", "dirname", "sh"):
        found = shutil.which(tool)
        assert found is not None
        (tmp_path / tool).symlink_to(found)
    script = ROOT / "scripts" / "build-image"
    done = subprocess.run([script], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "one of buildah, podman and docker" in done.stderr


def test_scripts_of_the_stages_install_a_server_that_runs(tmp_path: Path) -> None:
    """Build the wheel and install it as the image's stages do. `ebb` then works outside of this tree."""
    wheels, prefix = tmp_path / "wheel", tmp_path / "ebb"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["EBB_STATE_DIR"] = str(tmp_path / "state")

    def output(*command: str | Path) -> str:
        done = subprocess.run(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout

    output(ROOT / "scripts" / "build-wheel", wheels)
    index = os.environ.get("TORCH_CPU_INDEX", "https://download.pytorch.org/whl/cpu")
    output(ROOT / "scripts" / "install-wheel", prefix, wheels, "cpu", index)
    assert VERSION in output(prefix / "bin" / "ebb", "--version")
    assert "sk-ebb-" in output(prefix / "bin" / "ebb", "keys", "create", "first", "--admin")
    page = output(prefix / "bin" / "python", "-c", "from app.routes.pages import STATIC; print(STATIC / 'index.html')")
    assert page.startswith(str(prefix))
    assert Path(page.strip()).is_file()
