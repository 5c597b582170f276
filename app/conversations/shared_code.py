"""Colours of code on the page of a shared chat: comments, strings, numbers and keywords of common languages.

Each match takes all text that was looked at for it, so the time is linear in the length, whatever a message contains.
Highlighters with a grammar for each language do not promise that.
"""

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

_SLASHES: Final = r"//[^\n]*"
_HASH: Final = r"\#[^\n]*"
_DASHES: Final = r"--[^\n]*"
_BLOCK: Final = r"/\*(?s:.*?)(?:\*/|\Z)"
_DOUBLE: Final = r'"(?:[^"\\\n]|\\.)*"?'
_SINGLE: Final = r"'(?:[^'\\\n]|\\.)*'?"
_SQL_TEXT: Final = r"'(?:[^']|'')*'?"
_BACKTICK: Final = r"`(?:[^`\\]|\\(?s:.))*`?"
_TRIPLE: Final = r'"""(?s:.*?)(?:"""|\Z)|' + r"'''(?s:.*?)(?:'''|\Z)"
_CHARACTER: Final = r"'(?:[^'\\\n]|\\[^\n]{1,10})'"
"""A quoted character, in languages in which a quotation mark may also stand alone."""
_NUMBER: Final = (
    r"(?<![\w.])(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|[0-9][0-9_]*(?:\.[0-9_]+)?(?:[eE][+-]?[0-9]+)?)[a-zA-Z]{0,4}(?!\w)"
)
_WORD: Final = r"[^\W\d]\w*"
_TAG: Final = r"</?[A-Za-z][\w:.-]*|/?>"

_C: Final = (
    "break case const continue default do else enum extern false for if return sizeof static struct switch true void "
    "while"
)
_OBJECTS: Final = (
    "abstract catch class extends final finally import interface new null package private protected public super this "
    "throw try"
)


@dataclass(frozen=True, slots=True)
class _Language:
    """The parts of a language that have colours.

    keywords: separated by spaces. folds: whether case does not count in them.
    """

    comments: tuple[str, ...]
    strings: tuple[str, ...]
    keywords: str
    folds: bool = False
    tags: bool = False


_PYTHON: Final = _Language(
    (_HASH,),
    (rf"[rRbBfFuUtT]{{0,2}}(?:{_TRIPLE}|{_DOUBLE}|{_SINGLE})",),
    "False None True and as assert async await break case class continue def del elif else except finally for from "
    "global if import in is lambda match nonlocal not or pass raise return try while with yield",
)
_SCRIPT: Final = _Language(
    (_SLASHES, _BLOCK),
    (_DOUBLE, _SINGLE, _BACKTICK),
    f"{_C} {_OBJECTS} any as async await boolean debugger declare delete export from function get implements in "
    "instanceof let namespace number of readonly set string type typeof undefined unknown var yield",
)
_JAVA: Final = _Language(
    (_SLASHES, _BLOCK),
    (_TRIPLE, _DOUBLE, _CHARACTER),
    f"{_C} {_OBJECTS} as async await base bool boolean byte char companion data decimal def delegate double event "
    "fun get implements in init inner instanceof int internal is lazy let long match namespace native object of "
    "open operator out override record sealed set short string suspend synchronized throws trait type typeof using "
    "val var virtual when where with yield",
)
_C_LIKE: Final = _Language(
    (_SLASHES, _BLOCK),
    (_DOUBLE, _CHARACTER),
    f"{_C} {_OBJECTS} auto bool char concept constexpr consteval define delete double elif endif explicit export "
    "float friend goto ifdef ifndef include inline int long mutable namespace noexcept nullptr operator override "
    "pragma register requires short signed size_t std string template typedef typename union unsigned using virtual "
    "volatile",
)
_NEWER: Final = _Language(
    (_SLASHES, _BLOCK),
    (_TRIPLE, _DOUBLE, _BACKTICK, _CHARACTER),
    f"{_C} as async await bool chan class crate defer deinit dyn error extension fallthrough fn func go goto guard "
    "impl import in init int interface internal let loop macro map match mod move mut nil open override package "
    "private protocol pub public range ref rune select self Self string super throw throws trait try type unsafe "
    "use usize var where",
)
_SHELL: Final = _Language(
    (r"(?<![\w$])\#[^\n]*",),
    (r'"(?:[^"\\]|\\(?s:.))*"?', r"'[^']*'?"),
    "case cd do done echo elif else esac exit export fi for function if in local readonly return set shift source "
    "sudo then trap unset until while",
)
_SQL: Final = _Language(
    (_DASHES, _BLOCK),
    (_SQL_TEXT,),
    "add all alter and as asc begin between by case check column commit constraint create cross database default "
    "delete desc distinct drop else end exists explain foreign from full grant group having if in index inner "
    "insert into is join key left like limit not null offset on or order outer over partition primary references "
    "returning right rollback row select set table then trigger union unique update using values view when where "
    "window with",
    folds=True,
)
_RUBY: Final = _Language(
    (_HASH,),
    (_DOUBLE, _SINGLE),
    "BEGIN END alias and begin break case class def defined do else elsif end ensure false for if in module my next "
    "nil not or our package redo require rescue retry return self sub super then true undef unless until use when "
    "while yield",
)
_PHP: Final = _Language(
    (_SLASHES, _BLOCK, _HASH),
    (_DOUBLE, _SINGLE),
    f"{_C} {_OBJECTS} and array as callable declare echo elseif endforeach endif fn foreach function global "
    "implements include instanceof isset match namespace or print readonly require trait unset use var xor yield",
)
_LUA: Final = _Language(
    (r"--\[\[(?s:.*?)(?:\]\]|\Z)", _DASHES),
    (_DOUBLE, _SINGLE),
    "and break case data deriving do else elseif end false for function if import in infix instance let local "
    "module newtype nil not of or qualified repeat return then true type until where while",
)
_R: Final = _Language(
    (_HASH,),
    (_DOUBLE, _SINGLE),
    "FALSE Inf NA NULL NaN TRUE abstract baremodule begin break do else elseif end export false for function if "
    "import in let library local macro module mutable next repeat return struct true try using while",
)
_DATA: Final = _Language(
    (r"(?<!\S)\#[^\n]*",), (_TRIPLE, _DOUBLE, r"(?<!\w)" + _SINGLE), "false no null off on true yes"
)
_JSON: Final = _Language((_SLASHES, _BLOCK), (_DOUBLE,), "false null true")
_STYLE: Final = _Language(
    (_BLOCK, r"(?<!:)//[^\n]*"), (_DOUBLE, _SINGLE), "and from important import media not only supports to var"
)
_MARKUP: Final = _Language((r"<!--(?s:.*?)(?:-->|\Z)",), (_DOUBLE,), "", tags=True)
_BUILD: Final = _Language(
    (_HASH,),
    (_DOUBLE, _SINGLE),
    "ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL RUN SHELL USER VOLUME WORKDIR else endef endif "
    "define export ifdef ifeq ifneq include",
)

NAMES: Final = {
    "python py python3 py3": _PYTHON,
    "javascript js jsx mjs typescript ts tsx svelte vue": _SCRIPT,
    "java kotlin kt scala groovy gradle csharp cs c# dart": _JAVA,
    "c cpp c++ cc h hpp cuda objective-c objc arduino glsl": _C_LIKE,
    "go golang rust rs swift zig": _NEWER,
    "bash sh shell zsh fish console shellsession powershell ps1": _SHELL,
    "sql postgresql postgres mysql sqlite plsql": _SQL,
    "ruby rb perl pl elixir ex crystal": _RUBY,
    "php": _PHP,
    "lua haskell hs": _LUA,
    "r julia jl": _R,
    "yaml yml toml ini properties conf": _DATA,
    "json json5 jsonc": _JSON,
    "css scss less": _STYLE,
    "html xml svg xhtml": _MARKUP,
    "dockerfile docker makefile make": _BUILD,
}
"""The languages that have colours, by the names that models give to them."""

_LANGUAGES: Final = {name: language for names, language in NAMES.items() for name in names.split()}

CLASSES: Final = ("comment", "string", "number", "keyword")
"""Classes of the elements around the parts of code."""


def coloured(code: str, language: str, look: Callable[[], object]) -> str | None:
    """Return code as HTML, with an element around each part that has a colour; None for a language without colours.

    look: called for each part; what it raises ends the work.
    """
    known = _LANGUAGES.get(language.lower())
    if known is None:
        return None
    return "".join(_parts(code, known, look))


def _parts(code: str, language: _Language, look: Callable[[], object]) -> Iterator[str]:
    keywords, at = _keywords(language), 0
    for match in _pattern(language).finditer(code):
        look()
        kind, text = match.lastgroup, match[0]
        if kind == "word":
            kind = "keyword" if (text.lower() if language.folds else text) in keywords else None
        if kind is None:
            continue
        yield html.escape(code[at : match.start()])
        yield f'<span class="{kind}">{html.escape(text)}</span>'
        at = match.end()
    yield html.escape(code[at:])


@cache
def _keywords(language: _Language) -> frozenset[str]:
    return frozenset(language.keywords.split())


@cache
def _pattern(language: _Language) -> re.Pattern[str]:
    """Return the pattern of all parts. A part begins where the one before it has ended."""
    kinds = {"comment": language.comments, "string": language.strings, "number": (_NUMBER,), "word": (_WORD,)}
    if language.tags:
        kinds = {**{name: kinds[name] for name in ("comment", "string")}, "keyword": (_TAG,)}
    return re.compile("|".join(f"(?P<{kind}>{'|'.join(patterns)})" for kind, patterns in kinds.items()))
