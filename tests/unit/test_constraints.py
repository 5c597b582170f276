"""The exact versions of `constraints.txt`, on every Python that Ebb runs on."""

import importlib.metadata
import re
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

CONSTRAINTS = Path(__file__).parents[2] / "constraints.txt"
OLDEST = "3.11.0"
"""Debian 12 has 3.11.2. A package that needs a later 3.11 cannot be installed there."""


def dependencies(name: str, seen: set[str]) -> Iterator[str]:
    """Yield the packages that `name` installs on this platform, without extras."""
    for text in importlib.metadata.requires(name) or ():
        requirement = Requirement(text)
        needed = canonicalize_name(requirement.name)
        if needed not in seen and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            seen.add(needed)
            yield needed
            yield from dependencies(needed, seen)


def test_every_dependency_admits_the_oldest_python() -> None:
    found = {name: importlib.metadata.metadata(name) for name in dependencies("ebb-chat", set())}
    wanted = {name: "".join(metadata.get_all("Requires-Python", [])) for name, metadata in found.items()}
    assert len(wanted) > 50
    assert {name: versions for name, versions in wanted.items() if OLDEST not in SpecifierSet(versions)} == {}


def test_every_dependency_has_an_exact_version() -> None:
    pinned = {canonicalize_name(name) for name in re.findall(r"^([\w.-]+)==", CONSTRAINTS.read_text(), re.MULTILINE)}
    # scripts/install_torch.py installs torch and what torch alone depends on.
    of_torch = {"torch", *dependencies("torch", set())}
    assert set(dependencies("ebb-chat", set())) - pinned - of_torch == set()
