"""The better model that a server with the default model suggests."""

import pytest

from app.config.settings import Settings, load_settings
from app.host.suitable_model import better_model, suitable
from models.download.catalogue import find_entry


def settings(**flags: str) -> Settings:
    return load_settings({"device": "cpu"} | flags, environ={"HOME": "/nowhere"})


@pytest.fixture
def large_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.host.suitable_model.available_memory", lambda: 64 << 30)
    monkeypatch.setattr("app.host.suitable_model.usable_cores", lambda: 8)


@pytest.mark.usefixtures("large_machine")
def test_default_model_has_a_better_one_that_suits_the_machine() -> None:
    assert better_model(settings()) == "qwen3-4b"
    assert suitable(settings()).model == find_entry("qwen3-4b")
    assert suitable(settings()).sentence() == (
        "the largest one that suits this machine (64 GiB of available memory and 8 cores) is qwen3-4b"
    )


@pytest.mark.usefixtures("large_machine")
def test_chosen_model_is_left_alone() -> None:
    assert better_model(settings(model="org/model")) == ""


def test_small_machine_keeps_the_default_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.host.suitable_model.available_memory", lambda: 1 << 30)
    assert better_model(settings()) == ""
    assert "the default model smollm2-135m-instruct suits this machine" in suitable(settings()).sentence()
