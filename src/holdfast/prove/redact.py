"""Keeps passwords, tokens and keys out of evidence, reports and messages.

What a secret looks like: the password in a URL, what follows `Authorization:` or `Bearer`, the value of something that
is named like a key, and tokens that show by their shape what they are. Everything else stays as it was said. The leash
loads this file by its path, so it imports nothing but the standard library.
"""

import os
import re
from typing import Any

HIDDEN = "***"

_URL = re.compile(r"(://[^/\s:@\"<>\\]*):[^\s/\"<>\\]+@")
_TEXT = (
    (re.compile(r"(?i)(\bauthorization\b[\"']?\s*[:=]\s*[\"']?(?:(?:bearer|basic|token)\s+)?)[^\s\"',;&]+"), r"\1***"),
    (re.compile(r"(?i)(\bbearer[\s.]+)[\w.~+/=-]{8,}"), r"\1***"),
    (
        re.compile(
            r"(?i)((?:\b|_)(?:api[_-]?key|(?:client|secret|access|auth|refresh|id)[_-](?:secret|key|token)|passw(?:or)?d"
            r"|(?<=_)(?:token|secret))\\?[\"']?\s*[:=]\s*\\?[\"']?)[^\s\"'\\,;&]+"
        ),
        r"\1***",
    ),
    (re.compile(r"(?i)(--?(?:api-?key|token|password|secret)[\s=]+[\"']?)(?!-)[^\s\"']+"), r"\1***"),
    (
        re.compile(
            r"\b(?:sk-[\w-]{12,}|gh[pousr]_\w{16,}|glpat-[\w-]{12,}|xox[abeoprs]-[\w-]{8,}|AKIA[0-9A-Z]{12,}"
            r"|hf_[\w-]{12,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"
        ),
        HIDDEN,
    ),
)
_SUSPECT = re.compile(r"(?i)://|auth|bearer|key|token|secret|passw|sk-|gh[pousr]_|glpat-|xox|akia|hf_|eyj")
"""What every secret has in it: most texts have none of this, and are not looked at again."""
_NAMES = re.compile(
    r"(?i)(?:proxy-)?authorization|.*api[_-]?key|passw(?:or)?d|.*(?:^|[_-])(?:token|secret)|(?:access|auth|refresh)token"
)


def hide_passwords(text: str) -> str:
    """The text with the password of every URL in it taken out."""
    return _URL.sub(r"\1:***@", text)


def hide_secrets(text: str) -> str:
    """The text with the password of every URL, every token and every key in it taken out."""
    if _SUSPECT.search(text) is None:
        return text
    text = hide_passwords(text)
    for pattern, shown in _TEXT:
        text = pattern.sub(shown, text)
    return text


def hide_secrets_in(path: str | os.PathLike[str]) -> None:
    """Take the same out of a file of lines that nobody writes to any more; what is not text stays as it is."""
    masked = f"{os.fspath(path)}.masked"
    text = {"encoding": "utf-8", "errors": "surrogateescape", "newline": ""}
    with open(path, **text) as lines, open(masked, "w", **text) as kept:  # type: ignore[call-overload]  # noqa: PTH123
        kept.writelines(hide_secrets(line) for line in lines)
    os.replace(masked, path)  # noqa: PTH105


def mask(value: Any) -> Any:
    """A JSON value with the secrets in its texts, and the texts that are named like secrets, taken out."""
    if isinstance(value, str):
        return hide_secrets(value)
    if isinstance(value, list | tuple):
        return [mask(item) for item in value]
    if isinstance(value, dict):
        return {name: HIDDEN if _is_secret(name, inner) else mask(inner) for name, inner in value.items()}
    return value


def _is_secret(name: object, value: object) -> bool:
    return isinstance(value, str) and bool(value) and isinstance(name, str) and _NAMES.fullmatch(name) is not None
