"""First messages: a message that names no context, delivered again, gets the context that was made for it.

Nothing of the message is kept but a digest, and that only for as long as it may come again.
"""

from holdfast.store.engine import Tx
from holdfast.store.part import Part

GET = "SELECT context_id FROM first_messages WHERE tenant = ?1 AND digest = ?2 AND expires_at > ?3"
PUT = """
    INSERT INTO first_messages (tenant, digest, context_id, expires_at) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (tenant, digest) DO UPDATE SET context_id = excluded.context_id, expires_at = excluded.expires_at"""
FORGET = "DELETE FROM first_messages WHERE expires_at <= ?1"


class FirstMessages(Part):
    """`store.first_messages`."""

    __slots__ = ()

    async def context_of(self, digest: str, context_id: str, ttl_ms: int) -> str:
        """The context of the message with this digest: the one that it was given less than `ttl_ms` ago, else this."""

        def write(tx: Tx) -> str:
            now = tx.now()
            known = tx.one(GET, self.tenant, digest, now)
            if known is not None:
                return str(known[0])
            tx.run(PUT, self.tenant, digest, context_id, now + ttl_ms)
            tx.run(FORGET, now)
            return context_id

        return await self.workers.write(write, (f"first\0{self.tenant}\0{digest}",))
