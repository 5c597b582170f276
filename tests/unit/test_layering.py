"""The arrows of the architecture, read from the sources with `ast`: app -> engine -> {cache_tiers, models}.

Imports inside functions and under TYPE_CHECKING count like any other: a hidden arrow is still an arrow.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
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
SCHEDULER_SIDE = (
    "engine.core",
    "engine.processor",
    "engine.output_processor",
    "engine.scheduling",
    "engine.speculation",
    "engine.kv",
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
            assert node.level == 0, f"{path}:{node.lineno}: relative imports hide where an arrow points"
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


def test_only_seam_modules_import_lmcache() -> None:
    importers = {name for name, path in modules().items() if any(top(target) == "lmcache" for target in imports(path))}
    assert importers == {"cache_tiers.lmcache_adapter", "cache_tiers.lmcache_store", "cache_tiers.npu.lmcache_plugin"}
    seen = {name for name, path in modules().items() if "cache_tiers.lmcache_adapter" in imports(path)}
    assert seen == {"cache_tiers.lmcache_store"}
    plugged_in = {name for name, path in modules().items() if "cache_tiers.npu.lmcache_plugin" in imports(path)}
    assert plugged_in <= {"cache_tiers.npu.lmcache_plugin"}, "only LMCache imports its plug-in"


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

    These are `os.environ[name] = value`, `os.environ.setdefault(...)` and `env={**os.environ}`.
    """
    for node in nodes_of(path):
        match node:
            case ast.Subscript(value=environ, ctx=ast.Store()) | ast.Attribute(value=environ, attr="setdefault"):
                yield environ
            case ast.keyword(arg="env", value=ast.Dict(values=values)):
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
    comes_with = {"pydantic_core": "pydantic"}
    # These are imported only if a setting enables the extra, or if torch for a GPU has installed the package.
    optional = {("app.observability.tracing", "opentelemetry"), ("engine.attention.triton_kernels", "triton")}
    undeclared = {
        f"{name} imports {package}"
        for name, path in modules().items()
        for package in {top(target) for target in imports(path)} - ours
        if comes_with.get(package, package) not in declared and (name, package) not in optional
    }
    assert undeclared == set()
