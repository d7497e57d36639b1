"""A program that reports until it is killed: `python -m tests.client.program URL SESSION FIRST`.

It logs n = FIRST, FIRST + 1, … and now and then makes a call of another kind, which carries n too. It says each call on
stdout once it has returned: `step n`, `state n`.
"""

import asyncio
import sys

from holdfast.client import HookAgent


async def main(url: str, session_id: str, first: int) -> None:
    async with HookAgent(session_id, url=url, timeout=2) as agent:
        n = first
        while True:
            await agent.log_action("step", {"n": n, "room": "x" * (n % 300)})
            print("step", n, flush=True)  # noqa: T201
            if n % 7 == 0:
                await agent.update_state({"n": n})
                print("state", n, flush=True)  # noqa: T201
            n += 1
            await asyncio.sleep(0.0005)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
