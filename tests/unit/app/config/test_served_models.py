"""The models that settings list: their names, their own settings, and the default one."""

from pathlib import Path

import pytest

from app.config.options import SettingsError
from app.config.served_models import has_several_models, served_models
from app.config.settings import Settings, load_settings

HOME = {"HOME": "/home/ann"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a directory of models."""
    for name in ("large", "small", "no-model"):
        (tmp_path / name).mkdir()
    for name in ("large", "small"):
        (tmp_path / name / "config.json").write_text("{}")
    for name in ("Coder-Q4.gguf", "big-00001-of-00002.gguf", "big-00002-of-00002.gguf", "mmproj-big.gguf", "notes.txt"):
        (tmp_path / name).touch()
    return tmp_path


def settings_of(tmp_path: Path, toml: str, **flags: str) -> Settings:
    file = tmp_path / "ebb.toml"
    file.write_text(toml)
    return load_settings(
        {name.replace("_", "-"): text for name, text in flags.items()}, config_file=str(file), environ=HOME
    )


def test_directory_lists_folders_and_files_under_their_names(folder: Path) -> None:
    settings = load_settings({"models-dir": str(folder)}, environ=HOME)
    served = served_models(settings)
    assert {name: own.model for name, own in served.items()} == {
        "Coder-Q4": str(folder / "Coder-Q4.gguf"),
        "big": str(folder / "big-00001-of-00002.gguf"),
        "large": str(folder / "large"),
        "small": str(folder / "small"),
    }
    assert next(iter(served)) == "Coder-Q4"


def test_tables_have_separate_settings(tmp_path: Path) -> None:
    toml = 'dtype = "float32"\n[models]\nplain = "org/plain"\n[models.own]\nmodel = "org/own"\nkv-memory = "1GiB"\n'
    settings = settings_of(tmp_path, f'{toml}adapters-dir = "/srv/adapters"\n')
    served = served_models(settings)
    assert served["own"].adapters_dir == Path("/srv/adapters")
    assert served["plain"].adapters_dir is None
    assert [(name, own.model, own.kv_memory, own.dtype) for name, own in served.items()] == [
        ("plain", "org/plain", 0, "float32"),
        ("own", "org/own", 1 << 30, "float32"),
    ]


def test_named_model_hides_one_of_the_directory(folder: Path) -> None:
    settings = load_settings({"models-dir": str(folder), "models": "large=org/large"}, environ=HOME)
    served = served_models(settings)
    assert served["large"].model == "org/large"
    assert next(iter(served)) == "large"


@pytest.mark.parametrize(("model", "default"), [("small", "small"), ("org/other", "org/other")])
def test_model_setting_names_the_default_or_adds_it(folder: Path, model: str, default: str) -> None:
    served = served_models(load_settings({"models-dir": str(folder), "model": model}, environ=HOME))
    assert next(iter(served)) == default
    assert set(served) == {"Coder-Q4", "big", "large", "small", default}


def test_server_without_a_list_has_no_table() -> None:
    assert not has_several_models(load_settings({}, environ=HOME))
    assert has_several_models(load_settings({"models": "a=org/a"}, environ=HOME))


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"models_pinned": "smal"}, "--models-pinned smal is not one of the models; did you mean small"),
        ({"models_pinned": "a,small", "models_max": "1"}, "--models-pinned names 2 models, and --models-max 1"),
        ({"replicas": "2"}, "--replicas divides one model"),
        ({"tensor_parallel_size": "2"}, "--tensor-parallel-size divides one model"),
        ({"adapters_dir": "/srv/adapters"}, "--adapters-dir has the adapters of one model"),
        ({"draft_model": "/srv/draft"}, "--draft-model drafts for one model"),
    ],
)
def test_contradictions_are_refused_by_name(tmp_path: Path, flags: dict[str, str], message: str) -> None:
    settings = settings_of(tmp_path, '[models]\na = "org/a"\nsmall = "org/small"\n', **flags)
    with pytest.raises(SettingsError, match=message):
        served_models(settings)


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("[models.a]\nport = 1\n", "models.a: unknown key port"),
        ("[models.a]\ndtyp = 1\n", "unknown key dtyp; did you mean dtype"),
        ('[models.a]\nkv-memory = "much"\n', "models.a.kv-memory"),
        ("[models]\na = 5\n", "models.a must be a table or a string"),
    ],
)
def test_wrong_tables_are_refused_by_name(tmp_path: Path, toml: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        settings_of(tmp_path, toml)


def test_directory_without_models_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"has neither a folder with a config\.json nor a \.gguf file"):
        load_settings({"models-dir": str(tmp_path)}, environ=HOME)
    with pytest.raises(SettingsError, match="--models-dir"):
        load_settings({"models-dir": str(tmp_path / "gone")}, environ=HOME)
