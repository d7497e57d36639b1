"""Tokens: who may ask a gateway for what. They are the store's, not a tenant's; each names the tenant it is for.

A token is shown once, when it is made; what is kept is its hash. It reads `hf_<id>_<secret>`: the id, by which it is
listed and revoked, tells nothing of the secret, which has 256 random bits. Every look at a token is a read of the
store, so a revoked one is refused from the next request on, by every gateway.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.ids import check_name, check_tenant
from holdfast.store.engine import Row, Tx
from holdfast.store.lanes.shares import ReadLength
from holdfast.store.part import Part

READ = "read"
WRITE = "write"
ADMIN = "admin"
METRICS = "metrics"
PROOFS = "proofs"
OPERATOR = "operator"
SCOPES = (READ, WRITE, ADMIN, METRICS, PROOFS, OPERATOR)

PREFIX = "hf"
ID_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
ID_LENGTH = 10
SECRET_BYTES = 32
TEXT = re.compile(rf"{PREFIX}_([{ID_ALPHABET}]{{{ID_LENGTH}}})_[A-Za-z0-9_-]{{1,100}}", re.ASCII)
LONGEST_MS = 100 * 366 * 86_400_000
"""A hundred years: beyond that is for ever."""
LOCK = ("tokens",)

COLUMNS = "token_id, name, tenant, scopes, created_at, expires_at, revoked_at"
INSERT = """
    INSERT INTO tokens (token_id, name, tenant, scopes, created_at, expires_at, hash)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (token_id) DO NOTHING"""
GET = f"SELECT {COLUMNS} FROM tokens WHERE token_id = ?1"
FIND = f"SELECT hash, {COLUMNS} FROM tokens WHERE token_id = ?1"
LIST = f"SELECT {COLUMNS} FROM tokens ORDER BY created_at, token_id"
ANY = "SELECT count(*) FROM tokens"
REVOKE = "UPDATE tokens SET revoked_at = ?2 WHERE token_id = ?1 AND revoked_at IS NULL"


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its secret."""

    token_id: str
    name: str
    tenant: str
    scopes: frozenset[str]
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None

    def valid_at(self, now: int) -> bool:
        """Whether it is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class Tokens(Part):
    """`store.tokens`."""

    __slots__ = ()

    async def create(
        self, name: str, scopes: Iterable[str], *, tenant: str | None = None, lasts_ms: int | None = None
    ) -> tuple[Token, str]:
        """A new token for a tenant, this one if none is named, and its text, which nobody can be shown again."""
        check_name(name, "a token's name")
        chosen = check_scopes(scopes)
        whose = self.tenant if tenant is None else check_tenant(tenant)
        if lasts_ms is not None and not 0 < lasts_ms <= LONGEST_MS:
            raise InvalidInput(f"a token cannot last {lasts_ms} ms", hint="a hundred years at most, or for ever")
        token_id = "".join(secrets.choice(ID_ALPHABET) for _ in range(ID_LENGTH))
        text = f"{PREFIX}_{token_id}_{secrets.token_urlsafe(SECRET_BYTES)}"

        def write(tx: Tx) -> Token:
            now = tx.now()
            ends = None if lasts_ms is None else now + lasts_ms
            tx.run(INSERT, token_id, name, whose, " ".join(sorted(chosen)), now, ends, digest(text))
            row = tx.one(GET, token_id)
            assert row is not None
            return _token(row)

        return await self.workers.write(write, LOCK), text

    async def find(self, text: str) -> Token | None:
        """The token that this is the text of, if it is one and may still be used."""
        token_id = id_of(text)
        if token_id is None:
            return None

        def look(tx: Tx) -> Token | None:
            row = tx.one(FIND, token_id)
            if row is None or not hmac.compare_digest(bytes(row[0]), digest(text)):
                return None
            token = _token(row[1:])
            return token if token.valid_at(tx.now()) else None

        return await self.workers.read(look, ReadLength.LOOK)

    async def valid(self, token_id: str) -> bool:
        """Whether a token that was found before may still be used."""

        def look(tx: Tx) -> bool:
            row = tx.one(GET, token_id)
            return row is not None and _token(row).valid_at(tx.now())

        return await self.workers.read(look, ReadLength.LOOK)

    async def list(self) -> list[Token]:
        """All tokens there ever were, oldest first."""
        return await self.workers.read(lambda tx: [_token(row) for row in tx.all(LIST)])

    async def any(self) -> bool:
        """Whether there ever was a token."""

        def look(tx: Tx) -> bool:
            row = tx.one(ANY)
            return row is not None and row[0] > 0

        return await self.workers.read(look, ReadLength.LOOK)

    async def revoke(self, token_id: str) -> Token:
        """End a token for good; NotFound if there is none. One that is revoked stays as it was."""
        check_name(token_id, "a token's id")

        def write(tx: Tx) -> Token:
            tx.run(REVOKE, token_id, tx.now())
            row = tx.one(GET, token_id)
            if row is None:
                raise NotFound("there is no token with this id", hint="holdfast token list shows their ids")
            return _token(row)

        return await self.workers.write(write, LOCK, makes_room=True)


def check_scopes(scopes: Iterable[str]) -> frozenset[str]:
    """The scopes, or InvalidInput."""
    chosen = frozenset(scopes)
    if not chosen or not chosen <= frozenset(SCOPES):
        wrong = ", ".join(sorted(chosen - frozenset(SCOPES))) or "none"
        raise InvalidInput(f"a token's scopes cannot be: {wrong:.200}", hint=f"any of {', '.join(SCOPES)}")
    return chosen


def id_of(text: str) -> str | None:
    """The id in a token's text; None if it is none."""
    found = TEXT.fullmatch(text)
    return None if found is None else found[1]


def digest(text: str) -> bytes:
    """What is kept of a token. Its secret is random and long, so a plain hash is enough."""
    return hashlib.sha256(text.encode()).digest()


def _token(row: Row) -> Token:
    token_id, name, tenant, scopes, created_at, expires_at, revoked_at = row
    return Token(token_id, name, tenant, frozenset(scopes.split()), created_at, expires_at, revoked_at)
