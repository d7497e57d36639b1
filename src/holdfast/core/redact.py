"""Takes secrets out of text that is kept or shown: passwords, tokens, keys, the values of telling headers.

Logs, evidence, errors and problems all come through here: what one of them hides, none of them shows. It errs on the
side of taking out too much. What a secret was for stays readable, and of our own tokens the id, by which they are
listed and revoked. The time it takes grows with the text's length and no faster, and a file needs no more memory than
its longest line, or LONGEST_LINE.

The proof's leash runs this file by its path in a Python without packages: it imports nothing but the standard library.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TextIO

HIDDEN = "***"
LONGEST_LINE = 8 * 1024 * 1024
"""Characters of a file's line that are kept; what is longer is cut, and says so."""
SLACK = 4096
"""Characters that are left out before such a cut: there may be half a secret in them."""
LONGEST_KEY = 400
"""Lines after which a private key in a file is over, whether its end was written or not."""
TAKEN = "… ({:,} lines of a private key)\n"
KEY_WORD = 40
"""Characters of the longest word in a line of a private key, whatever a log has put before it; a line of several words
of which none is so long is prose, and the key is over."""

_NAMES = (
    r"authorization|password|passwd|passphrase|pwd|secret|token|credentials?|api[-_ ]?key|(?:access|private)[-_]?key"
    r"|(?:client|secret|auth|refresh|id)[-_]key"
)
_OURS = r"hf_[a-z0-9]{10}_\*\*\*"
_QUOTED = r"""(?:[bru]{0,2}(?P<quote>\\{0,3}["'])(?:[^"'\\]++|(?!(?<!\\)(?P=quote))[\s\S])*+(?P=quote)?)"""
_BARE = r"""[)\]}]*[^\s,;&"')\]}]++(?:[)\]}]++[^\s,;&"')\]}]++)*+"""
_SCHEME = r"(?:(?:bearer|basic|digest|token)\s+)?"
_LIKELY = r"(?=\S{0,100}\d|\S{20})"
_PROSE = r"(?-i:[a-z]{1,14}[.,;:)]?(?:\s|\Z))"
_FLAGS = r"(?:api-?key|token|password|passphrase|secret)"

_HINTS = (
    *("://", "hf_", "sk-", "sk_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "akia"),
    *("aiza", "eyj", "-----begin", "bearer", "cookie", "authorization", "pass", "pwd", "secret", "key", "token"),
    "credential",
)
"""Without one of these, in small letters, there is nothing to take out: most text is through here."""

_KEY_BEGINS = re.compile(r"-----BEGIN ([A-Z0-9 ]{0,40})PRIVATE KEY(?: BLOCK)?-----")
_USER = re.compile(r"://(?!\[)[^/:@]*:(?!\d{1,5}(?:/|[?#][\w.-]+=))")
"""Where the password of a URL begins, unless it is a part of an IPv6 address, or a port with a path or a query behind
it."""


def _without_password(address: re.Match[str]) -> str:
    text = address[0]
    end = text.rfind("@")
    user = _USER.search(text, 0, max(end, 0))
    return text if user is None else text[: user.end()] + HIDDEN + text[end:]


_RULES: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (
        re.compile(_KEY_BEGINS.pattern + r"(?:[^-]++|(?!-----END)-)*+(?:-----END[A-Z0-9 ]{0,60}-----)?"),
        rf"\1PRIVATE KEY {HIDDEN}",
    ),
    (re.compile(r"""://[^\s"<>]+"""), _without_password),
    (re.compile(r"""(cookie\\{0,3}["']?\s*[:=]\s*)[^\r\n]+""", re.I), rf"\1{HIDDEN}"),
    (re.compile(r"\bhf_([a-z0-9]{10})_[\w-]+"), rf"hf_\1_{HIDDEN}"),
    (
        re.compile(
            rf"""((?:{_NAMES})\\{{0,3}}["']?\s*[:=]\s*)(?!(?:\*\*\*|{_OURS})[)\]}}]*(?:[\s,;&"']|\Z))"""
            rf"""(?:{_QUOTED}|\\?[=>]*+{_SCHEME}{_BARE})""",
            re.I,
        ),
        rf"\1{HIDDEN}",
    ),
    (
        re.compile(
            rf"""((?<![\w-])--?(?:[a-z]{{1,20}}-){{0,4}}{_FLAGS}[\s=]+)(?![-=\s]|\*\*\*(?:[\s"']|\Z))"""
            rf"""(?:{_QUOTED}|{_SCHEME}[^\s"']+)""",
            re.I,
        ),
        rf"\1{HIDDEN}",
    ),
    (
        re.compile(rf"""(-{_FLAGS}[\s=]+["']?)(?!["'\s=-]|\*\*\*(?:[\s"']|\Z)|{_PROSE}){_SCHEME}[^\s"']+""", re.I),
        rf"\1{HIDDEN}",
    ),
    (
        re.compile(
            rf"\b(bearer[\s.]+)(?!{_OURS}|(?:authentication|authorization|credentials?)[.,;:)]?(?:\s|\Z))"
            rf"""(?:{_LIKELY}|(?=[\w.~+/=-]{{8}}))[^\s,;"']+""",
            re.I,
        ),
        rf"\1{HIDDEN}",
    ),
    (
        re.compile(
            r"\b(hf_|sk-|sk_live_|sk_test_|gh[pousr]_|github_pat_|glpat-|xox[a-z]-|AKIA|AIza|eyJ)"
            r"(?![a-z0-9]{10}_\*\*\*)[\w-]{8,}(?:\.[\w-]+)*"
        ),
        rf"\1{HIDDEN}",
    ),
)
_TELLING = re.compile(rf"(?:{_NAMES}|cookie)s?$", re.I)


def redact(text: str) -> str:
    """The text without the secrets in it."""
    small = text.lower()
    if not any(hint in small for hint in _HINTS):
        return text
    for rule, instead in _RULES:
        text = rule.sub(instead, text)
    return text


def redact_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The members without the secrets in them: in what they say, and those whose name says that they are one."""
    return {
        name: _hide(value) if isinstance(name, str) and _tells(name) else redact_value(value)
        for name, value in fields.items()
    }


def redact_value(value: Any) -> Any:
    """The value, however nested, without the secrets in it."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return redact_fields(value)
    if isinstance(value, list | tuple):
        return [redact_value(each) for each in value]
    return value


def redact_file(path: str | os.PathLike[str], longest_line: int = LONGEST_LINE) -> None:
    """Take the secrets out of a file of lines that nobody writes to any more; what is not text stays as it is."""
    part = f"{os.fspath(path)}.masked"
    text = {"encoding": "utf-8", "errors": "surrogateescape", "newline": ""}
    with open(path, **text) as lines, open(part, "w", **text) as redacted:  # type: ignore[call-overload]  # noqa: PTH123
        redacted.writelines(_redact_lines(_lines(lines, longest_line)))
    os.replace(part, path)  # noqa: PTH105


def _lines(file: TextIO, longest: int) -> Iterator[tuple[str, int]]:
    """The lines of a file, each no longer than what is kept of it, and how many characters that leaves out."""
    while line := file.readline(longest):
        left_out, last = 0, line
        while last[-1] not in "\r\n" and (last := file.readline(longest)):
            left_out += len(last)
        yield line, left_out


def _redact_lines(lines: Iterable[tuple[str, int]]) -> Iterator[str]:
    """The lines without secrets, private keys of several lines among them; of one without an end it is said how many
    lines were taken for it."""
    in_key, taken = False, 0
    for whole, left_out in lines:
        line = whole.rstrip("\r\n")
        ending = whole[len(line) :]
        if in_key:
            _, end, rest = line.partition("-----END")
            if not end and taken < LONGEST_KEY and not _is_prose(line):
                taken += 1
                continue
            if end:
                line = rest.partition("-----")[2]
            elif taken:
                yield TAKEN.format(taken)
            in_key, taken = False, 0
        *_, begin = (None, *_KEY_BEGINS.finditer(line))
        in_key = begin is not None and "-----END" not in line[begin.end() :]
        shown = redact(line)
        yield f"{shown[:-SLACK]} … ({left_out + SLACK:,} characters more)\n" if left_out else shown + ending
    if taken:
        yield TAKEN.format(taken)


def _is_prose(line: str) -> bool:
    """Whether a line cannot be one of a private key."""
    words = line.split()
    return len(words) > 2 and max(map(len, words)) < KEY_WORD and not words[0].endswith(":")


def _hide(value: Any) -> Any:
    """The value with none of its texts; numbers are no secrets, nor is nothing, and what is nested stays so."""
    if isinstance(value, Mapping):
        return {name: _hide(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_hide(each) for each in value]
    return value if value is None or value == "" or isinstance(value, int | float) else HIDDEN


@lru_cache(maxsize=1024)
def _tells(name: str) -> bool:
    return _TELLING.search(name) is not None
