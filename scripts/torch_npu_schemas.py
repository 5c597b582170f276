"""Prints the operator schemas that the installed torch_npu registers, for tests/contract/torch_npu_schemas.json.

Needs no NPU and no CANN. torch_npu links to libraries of CANN. If they are missing, the script compiles (cc, nm) and
loads stubs with the same symbols, which is enough to import torch_npu but for nothing else.
"""

import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

LIBRARIES = ("hccl", "acl_op_compiler", "ge_runner", "graph", "acl_tdt_channel", "atb")
"""Libraries of CANN besides libascendcl. The stub of libascendcl defines the symbols of all of them."""
CANN_SYMBOL = re.compile(r"acl[A-Z]|acl(rt|op|mdl|tdt|nn)|rt[A-Z]|Msprof|Hccl|_ZN?K?3atb|_ZT[ISV]N?3atb|_ZN?K?2ge")


def main() -> int:
    """Print the schemas as JSON. Return 1 if torch_npu is not installed."""
    try:
        torch = import_torch_npu()
    except ModuleNotFoundError as error:
        print(error, file=sys.stderr)
        return 1
    schemas = torch._C._jit_get_all_schemas()
    found = {
        "torch": torch.__version__.partition("+")[0],
        "torch_npu": version("torch_npu"),
        "source": "operator schemas registered by torch_npu; scripts/torch_npu_schemas.py printed them",
        "schemas": sorted(str(schema) for schema in schemas if schema.name.startswith(("npu::", "atb::"))),
    }
    print(json.dumps(found, indent=0))
    return 0


def import_torch_npu() -> Any:
    """Import torch with torch_npu and return torch. Call before torch is imported.

    Raise ModuleNotFoundError if torch_npu is not installed.
    """
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    spec = find_spec("torch_npu")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("torch_npu is not installed: pip install --no-deps 'torch_npu==2.13.*'")
    import torch

    # Loaded libraries stay usable after their files are deleted.
    with tempfile.TemporaryDirectory() as folder:
        if not _has_cann():
            _stand_in(Path(spec.origin).parent, Path(folder))
        # torch_npu prints to stdout when it is imported.
        with redirect_stdout(sys.stderr):
            __import__("torch_npu")
    return torch


def _has_cann() -> bool:
    try:
        ctypes.CDLL("libascendcl.so")
    except OSError:
        return False
    return True


def _stand_in(package: Path, folder: Path) -> None:
    names: set[str] = set()
    for library in (*package.glob("lib/*.so"), *package.glob("_C*.so")):
        listed = subprocess.run(
            ["nm", "-D", "--undefined-only", str(library)], capture_output=True, text=True, check=True
        )
        names |= {line.split()[-1].partition("@")[0] for line in listed.stdout.splitlines()}
    functions = sorted(name for name in names if CANN_SYMBOL.match(name))
    source = folder / "cann.c"
    source.write_text("\n".join(f"long {name}(void) {{ return 0; }}" for name in functions))
    nothing = folder / "nothing.c"
    nothing.write_text("")
    for name in ("ascendcl", *LIBRARIES):
        code, library = (source if name == "ascendcl" else nothing), folder / f"lib{name}.so"
        command = ["cc", "-shared", "-fPIC", "-w", f"-Wl,-soname,{library.name}", "-o", str(library), str(code)]
        subprocess.run(command, check=True)
        ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)


if __name__ == "__main__":
    sys.exit(main())
