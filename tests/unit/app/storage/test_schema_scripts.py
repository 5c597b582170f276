"""Scripts of the schemas, which never change once a database may have run them."""

from hashlib import sha256
from pathlib import Path

import app.storage

STORAGE = Path(app.storage.__file__).parent
SUMS = Path(__file__).with_name("schema.sha256")


def test_scripts_of_the_schemas_never_change() -> None:
    pinned = {name: digest for digest, name in (line.split() for line in SUMS.read_text().splitlines())}
    scripts = {f"{path.relative_to(STORAGE)}": path for path in STORAGE.glob("*/schema/*.sql")}
    found = {name: sha256(path.read_bytes()).hexdigest() for name, path in scripts.items()}
    changed = sorted(name for name in pinned if found.get(name) != pinned[name])
    assert not changed, "a database that has run these scripts lacks the change: add a script instead"
    lines = [f"{found[name]}  {name}" for name in sorted(found.keys() - pinned.keys())]
    assert not lines, "\n".join([f"new scripts: append to {SUMS.name}", *lines])
