"""Conditions of a request: `If-Match` and `If-None-Match`, and the tags that they are about (RFC 9110, section 13).

A tag is made from the very bytes of what is shown, so that two are equal only if nothing that was shown has changed.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header, Request

from holdfast.core.errors import InvalidInput
from holdfast.gateway.errors import PreconditionFailed

ANY = "*"
TAG = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
TAGS = re.compile(rf"{TAG}(?:[ \t]*+,[ \t]*+{TAG})*+\Z")
WEAK = "W/"


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a request wants to be so before anything is done; None is no condition."""

    match: frozenset[str] | None = None
    none_match: frozenset[str] | None = None

    def check_write(self, tag: str | None) -> None:
        """PreconditionFailed unless a change may be made to what has this tag, or, without one, is not there."""
        self._check_match(tag)
        if self.none_match is not None and _weakly(tag, self.none_match):
            raise PreconditionFailed("what is there is what it must not be", etag=tag)

    def is_known(self, tag: str) -> bool:
        """Whether a reader has what has this tag already; PreconditionFailed if it wants something else."""
        self._check_match(tag)
        return self.none_match is not None and _weakly(tag, self.none_match)

    @property
    def any(self) -> bool:
        """Whether there is one at all."""
        return self.match is not None or self.none_match is not None

    def _check_match(self, tag: str | None) -> None:
        if self.match is not None and (tag is None or (ANY not in self.match and tag not in self.match)):
            raise PreconditionFailed("what is there is not what it must be", etag=tag)


def tag_of(version: int, shown: bytes) -> str:
    """The tag of what is shown; its version is there for people to read."""
    return f'"{version}-{hashlib.sha256(shown).hexdigest()[:32]}"'


def parse_tags(values: list[str], header: str) -> frozenset[str] | None:
    """The tags that a header names, in however many lines; None if it is not there."""
    if not values:
        return None
    text = ",".join(values).strip(" \t")
    if text == ANY:
        return frozenset({ANY})
    if not TAGS.match(text):
        raise InvalidInput(f"{header} has no list of tags", hint='for example "3-9f86d081884c7d65", as in the ETag')
    return frozenset(re.findall(TAG, text))


async def _conditions(
    request: Request,
    if_match: Annotated[str | None, Header(description="only if the ETag is one of these")] = None,
    if_none_match: Annotated[str | None, Header(description="only if the ETag is none of these")] = None,
) -> Conditions:
    return Conditions(
        parse_tags(request.headers.getlist("if-match"), "If-Match"),
        parse_tags(request.headers.getlist("if-none-match"), "If-None-Match"),
    )


AskedConditions = Annotated[Conditions, Depends(_conditions)]


def _weakly(tag: str | None, tags: frozenset[str]) -> bool:
    return tag is not None and (ANY in tags or any(each.removeprefix(WEAK) == tag for each in tags))
