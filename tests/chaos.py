"""Fault runs of any length: `make chaos ARGS="--minutes 5"`. Stops by itself; exits 1 at the first violation.

Round after round, with a new seed each: a writing process is killed, processes race for the same seqs, processes
append while one follows; on SQLite and on PostgreSQL in turn. The seed of each round is printed, and `--seed` with
`--rounds 1` runs that round again.
"""

import argparse
import asyncio
import secrets
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.following import follow_processes
from tests.support.kills import kill_cycles
from tests.support.postgres import running_server
from tests.support.races import run_races


def say(text: str) -> None:
    """Tell the person who waits."""
    sys.stderr.write(text + "\n")


async def one_round(new_url: Callable[[], str], folder: Path, seed: int) -> list[str]:
    """One round on one engine; what was wrong."""
    history, found = await kill_cycles(new_url(), folder, 20, seed=seed)
    say(f"    20 kills, {len(history.acked)} acknowledged, {len(found)} violations")
    if found:
        return found
    await run_races(new_url(), 2 + seed % 7, 60)
    say(f"    60 races of {2 + seed % 7} processes, one winner each")
    got, missed, disordered = await follow_processes(new_url(), 4, 200)
    say(f"    {got} events followed, {missed} missed, {disordered} out of order")
    return [f"feed: {missed} missed, {disordered} out of order"] if missed or disordered else []


def main() -> int:
    """Run rounds until the time is up."""
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.0, help="how long (default 2)")
    parser.add_argument("--rounds", type=int, default=0, help="at most this many rounds")
    parser.add_argument("--seed", type=int, help="the first round's seed (default: drawn)")
    options = parser.parse_args()
    end = time.monotonic() + options.minutes * 60
    seed = secrets.randbits(32) if options.seed is None else options.seed
    rounds = 0
    with running_server() as server, tempfile.TemporaryDirectory(prefix="holdfast-chaos-") as root:
        while rounds == 0 or (time.monotonic() < end and rounds != options.rounds):
            rounds += 1
            for engine in ("sqlite", "postgresql"):
                folder = Path(tempfile.mkdtemp(dir=root))

                def new_url(engine: str = engine, folder: Path = folder) -> str:
                    if engine == "sqlite":
                        return f"sqlite:///{folder}/{secrets.token_hex(4)}.db"
                    return server.new_database()

                say(f"round {rounds}, {engine}, seed {seed}")
                try:
                    found = asyncio.run(one_round(new_url, folder, seed))
                except AssertionError as violation:
                    found = [str(violation)]
                if found:
                    say("VIOLATED: " + "; ".join(found[:10]))
                    return 1
            seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**32
    say(f"{rounds} rounds, nothing violated")
    return 0


if __name__ == "__main__":
    sys.exit(main())
