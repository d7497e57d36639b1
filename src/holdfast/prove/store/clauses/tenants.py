"""tenants: two tenants use the same names and keys, and never meet."""

from dataclasses import dataclass

from holdfast.prove.store.clause import Clause, elsewhere
from holdfast.prove.store.stage import StoreStage
from holdfast.prove.verdict import Finding, disproven, proven

TENANTS = ("acme", "acme2")
SHARED = "shared-name"


@dataclass(frozen=True, slots=True)
class _Facts:
    """What a tenant was refused, if anything; what each finds under the shared name, under the other's, in its list."""

    refused: str
    shared: dict[str, list[str]]
    foreign: dict[str, list[str]]
    listed: dict[str, list[str]] | None


async def steps(stage: StoreStage) -> _Facts:
    """Each tenant writes a session of a shared name, with a shared key where there are keys, and one of its own."""
    writer = await stage.client()
    refused = ""
    key = "shared-key" if "keys" in stage.offers else None
    for tenant in TENANTS:
        event = {"id": f"{tenant}-shared"}
        answer = await writer.call("append", session=SHARED, payload=event, key=key, tenant=tenant)
        refused = refused or answer.trouble
        await writer.must("append", session=f"own-{tenant}", payload={"id": f"{tenant}-own"}, tenant=tenant)
    reader = await stage.client()

    async def ids(session: str, tenant: str) -> list[str]:
        return [payload["id"] for payload in await reader.must("read", session=session, tenant=tenant)]

    one, other = TENANTS
    listed = None
    if "listing" in stage.offers:
        listed = {tenant: await reader.must("sessions", tenant=tenant) for tenant in TENANTS}
    return _Facts(
        refused,
        shared={tenant: await ids(SHARED, tenant) for tenant in TENANTS},
        foreign={one: await ids(f"own-{other}", one), other: await ids(f"own-{one}", other)},
        listed=listed,
    )


def check(facts: _Facts) -> Finding:
    """Each finds its own under the shared name, nothing under the other's, and lists its own two sessions."""
    if facts.refused:
        return disproven("one tenant's key or name stands in another's way", expected="both write", got=facts.refused)
    if not any(facts.shared.values()):
        return elsewhere()
    for tenant in TENANTS:
        if facts.shared[tenant] != [f"{tenant}-shared"]:
            return disproven(
                "two tenants share a session", expected=f"{tenant}-shared alone", got=str(facts.shared[tenant])
            )
        if facts.foreign[tenant]:
            return disproven("a tenant reads another's session", expected="nothing", got=str(facts.foreign[tenant]))
        if facts.listed is not None and facts.listed[tenant] != sorted((SHARED, f"own-{tenant}")):
            return disproven(
                "a tenant's list is not that of its sessions", expected="its own two", got=str(facts.listed[tenant])
            )
    return proven("same session names, same keys: neither tenant found anything of the other's")


CLAUSE = Clause("tenants", "tenants with the same names and keys never meet", steps, check, frozenset({"tenants"}))
