"""Posted runs of proofs: the summary of each, kept by the digest of its bytes, the newest so many of a tenant.

A run that is posted again is the one that is there. The oldest go in the write that adds one too many.
"""

import hashlib
from dataclasses import dataclass

from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.ids import check_name
from holdfast.store.engine import Tx
from holdfast.store.part import Part

MOST_PROOFS = 200
LARGEST = 1024 * 1024
MAX_PAGE = 200
NEWEST = 2**63 - 1
INSERT = """
    INSERT INTO proofs (tenant, proof_id, kind, posted_at, listed, document) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (tenant, proof_id) DO NOTHING"""
THERE = "SELECT 1 FROM proofs WHERE tenant = ?1 AND proof_id = ?2"
REMOVE_OLD = """
    DELETE FROM proofs WHERE tenant = ?1 AND proof_no <= (
      SELECT proof_no FROM proofs WHERE tenant = ?1 ORDER BY proof_no DESC LIMIT 1 OFFSET ?2)"""
LIST = """
    SELECT proof_no, proof_id, posted_at, listed FROM proofs
    WHERE tenant = ?1 AND proof_no < ?2 AND (?3 = '' OR kind = ?3) ORDER BY proof_no DESC LIMIT ?4"""
GET = "SELECT document FROM proofs WHERE tenant = ?1 AND proof_id = ?2"


@dataclass(frozen=True, slots=True)
class PostedProof:
    """A run in a list: its number rises with each, `listed` is what was kept to show of it (JSON)."""

    number: int
    proof_id: str
    posted_at: int
    listed: bytes


class Proofs(Part):
    """`store.proofs`: its tenant's runs."""

    __slots__ = ()

    async def post(self, kind: str, listed: bytes, document: bytes) -> tuple[str, bool]:
        """Keep a run; its id, and whether it is new."""
        check_name(kind, "a kind of proof")
        if len(document) > LARGEST:
            raise InvalidInput(f"the summary of a run has at most {LARGEST} bytes, not {len(document)}")
        proof_id = proof_id_of(document)

        def write(tx: Tx) -> bool:
            if tx.one(THERE, self.tenant, proof_id) is not None:
                return False
            tx.run(INSERT, self.tenant, proof_id, kind, tx.now(), listed, document)
            tx.run(REMOVE_OLD, self.tenant, MOST_PROOFS)
            return True

        return proof_id, await self.workers.write(write, (f"proofs\0{self.tenant}",))

    async def list(self, *, kind: str | None = None, before: int = NEWEST, limit: int = 50) -> list[PostedProof]:
        """Runs, the last posted first, of one kind or of all."""
        if not 0 < limit <= MAX_PAGE:
            raise InvalidInput(f"a page has 1 to {MAX_PAGE} runs, not {limit}")
        rows = await self.workers.read(lambda tx: tx.all(LIST, self.tenant, before, kind or "", limit))
        return [PostedProof(number, proof_id, at, bytes(listed)) for number, proof_id, at, listed in rows]

    async def get(self, proof_id: str) -> bytes:
        """The whole summary, byte for byte; NotFound if there is none."""
        check_name(proof_id, "a run's id")
        row = await self.workers.read(lambda tx: tx.one(GET, self.tenant, proof_id))
        if row is None:
            raise NotFound("there is no such run", hint=f"the newest {MOST_PROOFS} posted ones are kept")
        return bytes(row[0])


def proof_id_of(document: bytes) -> str:
    """The id of a run with this summary."""
    return f"p-{hashlib.sha256(document).hexdigest()[:32]}"
