"""The arrows of the architecture, read from the sources with `ast`: app -> engine -> {cache_tiers, models}.

Imports inside functions and under TYPE_CHECKING count like any other: a hidden arrow is still an arrow.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PACKAGES = ("app", "engine", "cache_tiers", "models")
BELOW = {
    "app": {"app", "engine", "cache_tiers", "models"},
    "engine": {"engine", "cache_tiers", "models"},
    "cache_tiers": {"cache_tiers"},
    "models": {"models"},
}
# The parts of each package from the bottom to the top. A part imports only parts before it.
ORDER = {
    "app": """
        version domain logs config host tenants schemas observability storage http prompts accounts transport
        runs access provisioning serving documents conversations apis load client doctor profile services open_services
        routes openapi server cli
        """,
    "engine": """
        api tracing device kv cost_estimate process cpu attention sampling request block_tables offload
        speculation scheduling config text grammar intake worker executor device_check loop wiring llm testing
        fleet
        """,
    "cache_tiers": """
        owners leak_check tier histogram transfer layout cpu curves config lower testing store redis disk moves registry
        cpu_store npu
        """,
    "models": """
        errors thinking interface layers weights adapters tokenizers gguf_import chat decoder families pangu
        transformers encoder registry retrieval download
        """,
}
SCHEDULER_SIDE = (
    "engine.loop.core",
    "engine.intake.processor",
    "engine.text.output_processor",
    "engine.scheduling",
    "engine.offload",
    "engine.speculation",
    "engine.kv",
    "engine.block_tables",
)


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), filename=str(path))


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree_of(path)))


@cache
def modules() -> dict[str, Path]:
    return {module_name(path): path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))}


@cache
def imports(path: Path) -> frozenset[str]:
    """Return every module that `path` imports. For `from a import b` that includes a.b, which may be a module."""
    return frozenset(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: use an absolute import, which names the package"
            assert node.module is not None
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # An entry in a table of lazy imports: "engine.attention.npu:NpuAttention".
            name = node.value.partition(":")[0]
            if "." in name and name in modules():
                yield name


def top(module: str) -> str:
    return module.partition(".")[0]


@pytest.mark.parametrize("package", PACKAGES)
def test_arrows_point_down_only(package: str) -> None:
    wrong = [
        f"{name} imports {target}"
        for name, path in modules().items()
        if top(name) == package
        for target in imports(path)
        if top(target) in PACKAGES and top(target) not in BELOW[package]
    ]
    assert wrong == []


def part_of(module: str, package: str) -> str:
    """Return the part of `package` that `module` belongs to, which is a subpackage or a module."""
    return module.removeprefix(f"{package}.").partition(".")[0]


def arrows(package: str) -> dict[str, dict[str, list[str]]]:
    """Return the imports between the parts of `package`, by importing part and imported part."""
    found: dict[str, dict[str, list[str]]] = {}
    for name, path in modules().items():
        if name.startswith(f"{package}."):
            below = found.setdefault(part_of(name, package), {})
            for target in imports(path):
                if target.startswith(f"{package}.") and part_of(target, package) != part_of(name, package):
                    below.setdefault(part_of(target, package), []).append(f"{name} imports {target}")
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_parts_import_only_parts_below_them(package: str) -> None:
    order = ORDER[package].split()
    found = arrows(package)
    assert sorted(order) == sorted(found), "a part has no place in the order, or has gone"
    wrong = [
        line
        for part, below in found.items()
        for target, lines in below.items()
        if target not in order[: order.index(part)]
        for line in lines
    ]
    assert wrong == []


@cache
def packages_below() -> list[str]:
    return [name for name, path in modules().items() if path.name == "__init__.py" and name not in PACKAGES]


@pytest.mark.parametrize("package", packages_below())
def test_parts_of_a_subpackage_form_no_circle(package: str) -> None:
    TopologicalSorter(arrows(package)).prepare()


def test_only_tests_and_benchmarks_import_engine_without_model() -> None:
    importers = {
        name for name, path in modules().items() if any(target.startswith("engine.testing") for target in imports(path))
    }
    assert {name for name in importers if not name.startswith("engine.testing.")} == set()


def test_redis_is_named_only_by_registry_settings_and_checks() -> None:
    importers = {
        name
        for name, path in modules().items()
        if not name.startswith("cache_tiers.redis")
        and any(target.startswith("cache_tiers.redis") for target in imports(path))
    }
    checks = {"app.doctor.checks", "app.doctor.security_checks"}
    assert importers == {"cache_tiers.registry", "app.config.topics.memory", *checks}
    named = {
        name
        for name, path in modules().items()
        if not name.startswith("cache_tiers.redis.")
        for node in nodes_of(path)
        if isinstance(node, ast.Constant) and node.value == "redis"
    }
    assert named == {"app.config.topics.memory", "app.doctor.checks", "app.doctor.security_checks"}


def test_only_seam_modules_import_lmcache() -> None:
    importers = {name for name, path in modules().items() if any(top(target) == "lmcache" for target in imports(path))}
    own = {f"cache_tiers.cpu_store.lmcache_{name}" for name in ("adapter", "memory", "parts")}
    assert importers == {*own, "cache_tiers.npu.lmcache_plugin"}
    seen = {name for name, path in modules().items() if "cache_tiers.cpu_store.lmcache_adapter" in imports(path)}
    assert seen == {"cache_tiers.cpu_store.lmcache_memory"}
    plugged_in = {name for name, path in modules().items() if "cache_tiers.npu.lmcache_plugin" in imports(path)}
    assert plugged_in <= {"cache_tiers.npu.lmcache_plugin"}, "only LMCache imports its plug-in"


SQLITE_SIDE = "app.storage.sqlite"
SQLITE_SQL = re.compile(
    r"INSERT OR|REPLACE INTO|PRAGMA|MATCH|LIMIT -1|\bIS (?!NOT |NULL)|\browid\b|\bjson_\w+\(|\bx''"
    r"|\b(iif|hex|char|total_changes)\(|\bIN (?!\(|\{)[a-z]"
)
"""Pattern of SQL that PostgreSQL rejects or interprets differently. Differences that need a parser are not found."""


def test_only_sqlite_side_imports_sqlite3() -> None:
    importers = {name for name, path in modules().items() if "sqlite3" in imports(path)}
    assert importers
    assert {name for name in importers if not name.startswith(f"{SQLITE_SIDE}.")} == set()


def storage_modules() -> dict[str, Path]:
    """Return the modules of the storage that are not on the SQLite side."""
    found = {name: path for name, path in modules().items() if name.startswith("app.storage.")}
    return {name: path for name, path in found.items() if not f"{name}.".startswith(f"{SQLITE_SIDE}.")}


def test_storage_modules_do_not_know_which_database_they_use() -> None:
    knowing = {
        name for name, path in storage_modules().items() if any(t.startswith(SQLITE_SIDE) for t in imports(path))
    }
    both = {"app.storage.store", "app.storage.postgres.copying"}
    assert knowing == both, "only the store chooses the database, and only a copy reads both"


def test_storage_modules_write_no_sql_of_sqlite_alone() -> None:
    wrong = [
        f"{name}:{node.lineno}: {found[0]}"
        for name, path in storage_modules().items()
        for node in nodes_of(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if (found := SQLITE_SQL.search(node.value))
    ]
    assert wrong == []


def test_scheduler_side_imports_no_tensor_library() -> None:
    """Check the transitive closure of the imports, too: none of them reaches torch."""
    known = modules()
    todo = [name for name in known if any(name == side or name.startswith(f"{side}.") for side in SCHEDULER_SIDE)]
    assert len(todo) > len(SCHEDULER_SIDE)
    reached_from = dict.fromkeys(todo, "")
    tensors = []
    while todo:
        name = todo.pop()
        for target in imports(known[name]):
            if top(target) in ("torch", "numpy", "lmcache", "transformers", "safetensors"):
                tensors.append(f"{name} imports {target} (reached from {reached_from[name] or 'itself'})")
            elif target in known and target not in reached_from:
                reached_from[target] = name
                todo.append(target)
    assert tensors == []


def _environment_uses(path: Path) -> Iterator[ast.AST]:
    for node in nodes_of(path):
        match node:
            case ast.Attribute(value=ast.Name(id="os"), attr="environ" | "environb" | "getenv"):
                yield node
            case ast.ImportFrom(module="os", names=names):
                if any(alias.name in ("environ", "environb", "getenv") for alias in names):
                    yield node


def _environment_passed_on(path: Path) -> Iterator[ast.AST]:
    """Yield the uses that read no setting.

    These are `os.environ[name] = value`, `os.environ.setdefault(...)`, `env={**os.environ}` and the same for
    `posix_spawn`.
    """
    for node in nodes_of(path):
        match node:
            case ast.Subscript(value=environ, ctx=ast.Store()) | ast.Attribute(value=environ, attr="setdefault"):
                yield environ
            case (
                ast.keyword(arg="env", value=ast.Dict(values=values))
                | ast.Call(func=ast.Attribute(attr="posix_spawn"), args=[_, _, ast.Dict(values=values)])
            ):
                yield from values


def test_only_settings_read_the_environment() -> None:
    readers = set()
    for name, path in modules().items():
        passed_on = set(_environment_passed_on(path))
        if any(node not in passed_on for node in _environment_uses(path)):
            readers.add(name)
    assert readers == {"app.config.settings"}


MUTATORS = ("append", "extend", "insert", "add", "update", "setdefault", "pop", "popitem", "remove", "discard", "clear")


def _changed_names(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and name of every variable that is rebound by `global` or changed in place."""
    for node in nodes_of(path):
        match node:
            case ast.Global(names=names):
                yield from ((node.lineno, name) for name in names)
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                yield node.lineno, name
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attribute)) if attribute in MUTATORS:
                yield node.lineno, name


def _module_names(tree: ast.Module) -> set[str]:
    targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    targets += [node.target for node in tree.body if isinstance(node, ast.AnnAssign)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def test_modules_have_no_mutable_state() -> None:
    """Check that module-level tables are never changed, so that two engines in one process share only code."""
    changed = [
        f"{name}:{line} changes {variable}"
        for name, path in modules().items()
        for line, variable in _changed_names(path)
        if variable in _module_names(tree_of(path))
    ]
    assert changed == []


def test_nothing_is_pickled() -> None:
    picklers = {
        name
        for name, path in modules().items()
        for target in imports(path)
        if top(target) in ("pickle", "marshal", "shelve", "dill", "cloudpickle")
    }
    assert picklers == set()


def test_every_imported_package_is_a_declared_dependency() -> None:
    """Reject transitive dependencies: a package may drop its own dependencies in the next version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {re.split(r"[=<>;\[ ]", line, maxsplit=1)[0].replace("-", "_") for line in project["dependencies"]}
    ours = {*PACKAGES, *sys.stdlib_module_names}
    comes_with = {
        "pydantic_core": "pydantic",
        "bs4": "beautifulsoup4",
        "pptx": "python_pptx",
        "markdown_it": "markdown_it_py",
    }
    # These are imported only if a setting enables the extra, or if torch for a GPU has installed the package.
    kernels = {"engine.attention.triton_kernels", "models.layers.triton_layers"}
    kernels |= {"engine.sampling.triton_draws", "engine.sampling.triton_penalties"}
    triton = {(name, "triton") for name in kernels}
    optional = {("app.observability.tracing", "opentelemetry"), *triton}
    optional |= {("app.accounts.directory", "ldap"), ("app.cli.desktop", "webview")}
    optional |= {(name, "psycopg") for name in modules() if name.startswith("app.storage.postgres.")}
    on_ray = ("engine.fleet.placement.ray_", "engine.executor.ray_")
    optional |= {(name, "ray") for name in modules() if name.startswith(on_ray)}
    undeclared = {
        f"{name} imports {package}"
        for name, path in modules().items()
        for package in {top(target) for target in imports(path)} - ours
        if comes_with.get(package, package) not in declared and (name, package) not in optional
    }
    assert undeclared == set()
