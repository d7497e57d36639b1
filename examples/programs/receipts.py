"""A program of one's own that survives kill -9: a receipt for each order of a folder, and a session that tells of it.

    holdfast serve &
    mkdir -p orders receipts && echo "two coffees" > orders/a1
    SESSION_ID=receipts-1 python examples/programs/receipts.py orders receipts

Kill it whenever you like and start it again: each order has one receipt, and the session tells of each once. Two things
make it so: what is done outside has a name of its own (the receipt's file), and so has what is told (the event id).
"""

import asyncio
import sys
from pathlib import Path

from holdfast.client import HookAgent


def write_receipt(order: Path, receipts: Path) -> Path:
    """The receipt of an order: whole or not there, and the same if it is written again."""
    beside = receipts / f".{order.name}.new"
    beside.write_text(f"paid: {order.read_text()}")
    return beside.rename(receipts / order.name)


async def main(orders: list[Path], receipts: Path) -> None:
    """Go through the orders, and end when all of them are told."""
    async with HookAgent() as agent:
        if agent.resumed is None:
            await agent.create_session("shop", agent="receipts", initial={"source": "examples/programs/receipts.py"})
        for order in orders:
            await agent.add_goal(f"Receipt for {order.name}", goal_id=f"case-{order.name}")
            told = {"order": order.name, "receipt": str(write_receipt(order, receipts))}
            await agent.log_action({"type": "receipt", "details": told, "eventId": f"{agent.session_id}-{order.name}"})
            await agent.update_goal(f"case-{order.name}", "completed")
        await agent.update_state({"phase": "ready"})
        await agent.flush()


if __name__ == "__main__":
    asyncio.run(main(sorted(Path(sys.argv[1]).iterdir()), Path(sys.argv[2])))
