"""Names of the adapters of several models."""

from pathlib import Path

import pytest

from app.config.options import SettingsError
from app.config.settings import load_settings
from app.host.model_builds import adapter_names


def test_names_of_adapters_stand_for_one_thing_each(tmp_path: Path) -> None:
    for name in ("first/poet", "second/poet", "third/ant"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "adapter_config.json").write_text("{}")
    plain = load_settings({"model": "org/plain"}, environ={"HOME": "/home/ann"})
    first, second, third = (
        load_settings({"adapters-dir": str(tmp_path / name)}, environ={"HOME": "/home/ann"})
        for name in ("first", "second", "third")
    )
    assert adapter_names({"ant": plain, "bee": first}) == {"ant": (), "bee": ("poet",)}
    with pytest.raises(
        SettingsError, match=r"models\.bee\.adapters-dir: the adapter poet .* an adapter of the model ant"
    ):
        adapter_names({"ant": first, "bee": second})
    with pytest.raises(SettingsError, match=r"the adapter ant has the name of the model ant"):
        adapter_names({"ant": plain, "bee": third})
