"""Takes secrets out of text that is kept or shown: passwords, tokens, keys, the values of telling headers.

It errs on the side of taking out too much. What a secret was for stays readable, and of our own tokens the id, by
which they are listed and revoked. The time it takes grows with the text's length and no faster.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

HIDDEN = "***"

_NAMES = (
    "authorization|password|passwd|passphrase|pwd|secret|api[-_ ]?key|access[-_]?key|private[-_]?key|token|credentials?"
)
_VALUE = r"""(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|(?:(?:bearer|basic|digest|token)[ ]+)?[^\s,;&"'}\])]+)"""

_HINTS = (
    *(
        "://",
        "hf_",
        "sk-",
        "sk_",
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
        "github_pat_",
        "glpat-",
        "xox",
        "akia",
        "aiza",
    ),
    *("eyj", "-----begin", "bearer", "cookie", "authorization", "pass", "pwd", "secret", "key", "token", "credential"),
)
"""Without one of these, in small letters, there is nothing to take out: most text is through here."""

_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"-----BEGIN ([A-Z ]*)PRIVATE KEY-----(?:(?!-----END)[\s\S])*(?:-----END[A-Z ]*-----)?"),
        r"\1PRIVATE KEY ***",
    ),
    (re.compile(r"""(://[^\s/:@"']{0,200}):(?!\d{1,5}[/?#])[^\s"'<>]{1,1000}@"""), rf"\1:{HIDDEN}@"),
    (re.compile(r"""(cookie["']?\s{0,4}[:=]\s{0,4})[^\r\n]+""", re.I), rf"\1{HIDDEN}"),
    (re.compile(r"\bhf_([a-z0-9]{10})_[\w-]+"), rf"hf_\1_{HIDDEN}"),
    (
        re.compile(
            rf"""((?:{_NAMES})\\?["']?\s{{0,4}}[:=]\s{{0,4}})(?!\*\*\*|hf_[a-z0-9]{{10}}_\*\*\*)\\?{_VALUE}""", re.I
        ),
        rf"\1{HIDDEN}",
    ),
    (re.compile(r"\b(bearer[ .]+)(?!hf_[a-z0-9]{10}_\*\*\*)(?=\S{0,100}\d|\S{20})[^\s,;\"']+", re.I), rf"\1{HIDDEN}"),
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
        name: HIDDEN if _tells(name) and not isinstance(value, int | float | None) else redact_value(value)
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


@lru_cache(maxsize=1024)
def _tells(name: str) -> bool:
    return _TELLING.search(name) is not None
