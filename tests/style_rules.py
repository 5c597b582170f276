"""Checks of STYLE.md on docstrings, comments, test names and docs.

`python -m tests.style_rules` prints the violations of the whole tree, or of the files that are given. With `--wrap`, it
first wraps the long lines of pages.
"""

import argparse
import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from tests.wrapped_pages import MAX_LINE, long_lines, wrapped

ROOT = Path(__file__).parent.parent
CODE = ("app", "engine", "cache_tiers", "models", "bench", "scripts", "tests")
PRODUCT = ("app", "engine", "cache_tiers", "models")
KERNELS = "triton_"
"""Beginning of the names of files whose functions run on a GPU, where arguments have no names."""
MAX_TEST_NAME = 60
MAX_BY_PLACE = 6
MAX_SENTENCE_WORDS = 30
MAX_LONG_SENTENCES = 0.1

PRONOUNS = frozenset({"it", "its", "what", "who", "whoever", "nobody", "somebody", "those", "of"})
FUNCTION_OPENINGS = PRONOUNS | {"the", "a", "all", "whether", "how"}

AFTER_OWN = (
    "and",
    "or",
    "in",
    "for",
    "with",
    "that",
    "which",
    "on",
    "to",
    "has",
    "have",
    "is",
    "are",
    "from",
    "by",
    "so",
)
"""Words that show that "of its own" has no noun after it."""

WORDS = {
    r"who(m)?ever": "name the party",
    r"nobody|somebody": "name the party",
    r"anew": "again",
    r"lately": "recently",
    r"meanwhile": "while ...",
    r"lies? (in|on|there|below|above|under)": "is in, is on",
    r"(is|are|was|were|be|been) told": "receives, is notified",
    r"go(es)? on": "continues",
    r"gone on": "continued",
    r"beside": "alongside",
    r"brought up": "loaded",
    r"heed(s|ed|ing)?": "handle, follow",
    r"(?<!`)said(?![`:(])": "emitted, sent, written",
    r"(?<!`)(?-i:farewell)(?!`)": "`farewell` event, or notice",
    r"se(e|es|nt|en|eing) off": "hand over",
    rf"of (its|their) own(?=[^\w\s]|$|\s+({'|'.join(AFTER_OWN)})\b)": "its own, or separate",
}
_WORDS = {re.compile(rf"\b({word})\b", re.IGNORECASE): instead for word, instead in WORDS.items()}
_ANY_WORD = re.compile("|".join(word.pattern for word in _WORDS), re.IGNORECASE)
"""Most texts have none of the words, so that they need not be searched for one by one."""
_NAME_WORDS = {word: instead for word, instead in _WORDS.items() if not re.search("said|farewell", word.pattern)}
"""Words that names of functions, classes and variables do not have either. `farewell` is the name of an event."""
_ANY_NAME_WORD = re.compile("|".join(word.pattern for word in _NAME_WORDS), re.IGNORECASE)
VAGUE = frozenset({"how", "met", "what", "said"})
"""Words that are not the whole name of anything in the product."""
_MAY_BE_VAGUE = re.compile(rf"(?<![A-Za-z0-9])_*(?:{'|'.join(sorted(VAGUE))})_*\s*(?:[=:,)\](]|[^\s\w]+=|in\b)")
"""Pattern of all places that may define such a name, and of some that do not, such as texts."""
_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"(])")
_RAISES = re.compile(r"\bRaises\b(?!:)")
_OPENING = re.compile(r"[\s\"'`(*_]*([A-Za-z]+)")


@dataclass(frozen=True, slots=True)
class Violation:
    """A place that breaks the style."""

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


def code_files() -> list[Path]:
    """List the Python files that the style covers."""
    files = [path for folder in CODE for path in (ROOT / folder).rglob("*.py")]
    return sorted([ROOT / "conftest.py", *files])


def docs_files() -> list[Path]:
    """List the English pages that the style covers. CHANGELOG.md is history and is left out."""
    pages = [path for path in (ROOT / "docs").rglob("*.md") if not path.name.endswith(".zh-CN.md")]
    top = [path for path in ROOT.glob("*.md") if path.name not in ("CHANGELOG.md", "README.zh-CN.md")]
    return sorted([*top, *pages])


def violations_in(path: Path) -> Iterator[Violation]:
    """Yield the violations in one file."""
    name = path.relative_to(ROOT).as_posix()
    if path.suffix == ".md":
        # The style guide has to name the words that it bans.
        found = in_page(path.read_text()) if name != "STYLE.md" else ()
    else:
        found = (*mood_violations().get(name, ()), *(in_source(path.read_text()) if path != Path(__file__) else ()))
    yield from (Violation(name, line, text) for line, text in found)
    if name.startswith(tuple(f"{package}/" for package in PRODUCT)) and not path.name.startswith(KERNELS):
        source = path.read_text()
        yield from (Violation(name, line, text) for line, text in (*wide_calls(source), *vague_names(source)))


def in_source(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and description of each violation in a Python file, apart from the mood of its docstrings."""
    tree = _parsed(source)
    yield from _in_docstrings(tree)
    # Most files have none of the words, so that their many names need not be looked at one by one.
    if _ANY_NAME_WORD.search(_in_words(source)) is not None:
        yield from _in_names(tree)
    yield from _in_comments(source)


@lru_cache(maxsize=1)
def _parsed(source: str) -> ast.Module:
    """Parse a file once for all rules."""
    return ast.parse(source)


def wide_calls(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and description of each dataclass and function that takes more than MAX_BY_PLACE values by place."""
    for node in _statements(_parsed(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            taken = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
            kind, count = "parameters", len(taken) - (taken[:1] in (["self"], ["cls"]))
        elif isinstance(node, ast.ClassDef) and (decorator := _dataclass_decorator(node)) is not None:
            kind, count = "fields", 0 if "kw_only=True" in decorator else sum(map(_is_init_field, node.body))
        else:
            continue
        if count > MAX_BY_PLACE:
            yield node.lineno, f"{node.name}: {count} {kind} by place, at most {MAX_BY_PLACE}: make them keyword-only"


def _dataclass_decorator(node: ast.ClassDef) -> str | None:
    texts = map(ast.unparse, node.decorator_list)
    return next((text for text in texts if re.match(r"(dataclasses\.)?dataclass\b", text)), None)


def _is_init_field(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.AnnAssign) or ast.unparse(statement.annotation).startswith("ClassVar"):
        return False
    value = "" if statement.value is None else ast.unparse(statement.value)
    return "init=False" not in value and "kw_only=True" not in value


@cache
def mood_violations() -> Mapping[str, list[tuple[int, str]]]:
    """Find the function docstrings that are not in the imperative mood (ruff's D401), by file."""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "D401", "--output-format", "concise"]
    result = subprocess.run(
        [*command, "--exit-zero", "--no-cache", *CODE, "conftest.py"], cwd=ROOT, capture_output=True, text=True
    )
    found = defaultdict(list)
    for row in result.stdout.splitlines():
        if (match := re.match(r"([^:]+):(\d+):\d+: D401 (.*)", row)) is not None:
            found[match[1]].append((int(match[2]), match[3]))
    return found


def vague_names(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and description of each name that is a word of VAGUE."""
    # Most files have none, so that their many names need not be looked at one by one.
    if _MAY_BE_VAGUE.search(source) is None:
        return
    found = ((line, name) for line, name in _names(_parsed(source)) if name.strip("_") in VAGUE)
    yield from ((line, f"{name}: name the thing") for line, name in found)


def _in_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the names of functions, classes, parameters and variables that have a word of _NAME_WORDS."""
    for line, name in _names(tree):
        words = _in_words(name)
        yield from ((line, f"{name}: {instead}") for word, instead in _NAME_WORDS.items() if word.search(words))


def _names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and name of each function, class, parameter, variable and attribute that is defined."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name


def _in_words(name: str) -> str:
    """Return a name, or a source with names, with spaces between the words of each."""
    return _CASE.sub(" ", name).replace("_", " ")


def _in_docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in _statements(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            openings = PRONOUNS if _is_property(node) else FUNCTION_OPENINGS
            if node.name.startswith("test_") and len(node.name) > MAX_TEST_NAME:
                yield node.lineno, f"test name of {len(node.name)} characters, at most {MAX_TEST_NAME}"
        elif isinstance(node, ast.Module | ast.ClassDef):
            openings = PRONOUNS
        else:
            continue
        text = ast.get_docstring(node)
        if text is None:
            continue
        line = node.body[0].lineno
        if (word := _opening(text)) in openings:
            yield line, f"docstring opens with {word!r}"
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _RAISES.search(text) is not None:
            yield line, "'Raises': Raise X if ..."
        yield from ((line, found) for found in _in_prose(text))


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the module and all statements in it. Their expressions, which hold no docstring, are most of its nodes."""
    found: list[ast.AST] = [tree]
    for node in found:
        yield node
        for block in ("body", "handlers", "orelse", "finalbody", "cases"):
            found += getattr(node, block, ())


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = {getattr(one, "id", getattr(one, "attr", "")) for one in node.decorator_list}
    return bool(names & {"property", "cached_property", "setter", "fixture"})


def _in_comments(source: str) -> Iterator[tuple[int, str]]:
    """Join the comment lines that follow each other, since a sentence may run over several."""
    block: list[str] = []
    for number, line in enumerate([*source.splitlines(), ""], start=1):
        stripped = line.strip()
        if stripped.startswith("# "):
            block.append(stripped[2:])
            continue
        if block:
            yield from ((number - len(block), found) for found in _in_prose(" ".join(block)))
            block = []


def _in_prose(text: str) -> Iterator[str]:
    for sentence in _sentences(text):
        if (word := _opening(sentence)) in PRONOUNS:
            yield f"sentence opens with {word!r}: {sentence[:60]}"
    if _ANY_WORD.search(text) is None:
        return
    for pattern, instead in _WORDS.items():
        if (match := pattern.search(text)) is not None:
            yield f"{match[0]!r}: {instead}"


def in_page(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and description of each violation in a page of the docs."""
    for number, length in long_lines(text):
        yield number, f"line of {length} characters, at most {MAX_LINE}: run python -m tests.style_rules --wrap"
    text = re.sub(r"```.*?```", lambda code: "\n" * code[0].count("\n"), text, flags=re.DOTALL)
    sentences = long = 0
    line = 1
    for block in re.split(r"(\n\s*\n|\n(?=[-*|#>]|\d+\.))", text):
        prose = re.sub(r"^[-*>#\s]+|^\d+\.\s+", "", block)
        if prose.strip() and not prose.startswith("|"):
            yield from ((line, found) for found in _in_prose(prose))
            lengths = [len(sentence.split()) for sentence in _sentences(prose)]
            sentences += len(lengths)
            long += sum(length > MAX_SENTENCE_WORDS for length in lengths)
        line += block.count("\n")
    if long > max(1, MAX_LONG_SENTENCES * sentences):
        yield 1, f"{long} of {sentences} sentences have more than {MAX_SENTENCE_WORDS} words"


def _sentences(text: str) -> list[str]:
    return [sentence for sentence in _SENTENCE_END.split(text) if sentence.strip()]


def _opening(text: str) -> str:
    match = _OPENING.match(text)
    return match[1].lower() if match is not None else ""


def main() -> int:
    """Print the violations; return 1 if there is one."""
    parser = argparse.ArgumentParser(description="Check docstrings, comments, test names and docs against STYLE.md.")
    parser.add_argument("files", nargs="*", help="check these files (default: all)")
    parser.add_argument("--wrap", action="store_true", help="wrap the long lines of pages first")
    arguments = parser.parse_args()
    chosen = [Path(name).resolve() for name in arguments.files] or [*code_files(), *docs_files()]
    if arguments.wrap:
        for page in chosen:
            if page.suffix == ".md":
                page.write_text(wrapped(page.read_text()))
    violations = [violation for path in chosen for violation in violations_in(path)]
    for violation in violations:
        print(violation)
    return 1 if violations else 0


if __name__ == "__main__":
    raise SystemExit(main())
