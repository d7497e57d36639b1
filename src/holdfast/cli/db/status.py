"""`holdfast db status`."""

from typing import Any

import click

from holdfast.cli import output
from holdfast.cli.errors import says_errors
from holdfast.cli.service import run, serving
from holdfast.cli.target_options import Where, somewhere


@click.command()
@somewhere
@says_errors
def status(where: Where, as_json: bool) -> None:
    """Say what the store is, how large, and who holds it."""
    found = run(_status(where))
    if as_json:
        output.as_json(found)
        return
    output.pairs(
        [
            ("store", found["store"] or "-"),
            *(("held by", each) for each in _holders(found)),
            ("engine", f"{found['engine']} {found['engineVersion']}"),
            ("schema", str(found["schema"])),
            ("store id", found["storeId"]),
            ("sessions", f"{found['sessions']:,}"),
            ("events", f"{found['events']:,}"),
            ("size", output.size(found["sizeBytes"])),
            ("free", output.size(free) if (free := found["figures"].get("freeBytes")) is not None else "-"),
            ("log", output.size(found["walSizeBytes"]) if found["walSizeBytes"] is not None else "-"),
        ]
    )


def _holders(found: dict[str, Any]) -> list[str]:
    """Who serves the store, for people."""
    if found["gateways"]:
        return [
            f"the gateway at {each['url']} (pid {each['pid']} on {each['host']}, since {each['startedAt']})"
            for each in found["gateways"]
        ]
    if found["gateway"]:
        return [f"the gateway at {found['gateway']} (pid {found['pid'] or 'unknown'})"]
    return ["nobody: no gateway runs on it"]


async def _status(where: Where) -> dict[str, Any]:
    async with serving(where) as service:
        found: dict[str, Any] = await service.call("GET", "/api/status")
        if service.gateway is None:
            found |= {"pid": None, "uptime": None}
        return {**found, "gateway": service.gateway}
