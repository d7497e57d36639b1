"""A long conversation with compaction: what a turn costs at its end, against its beginning.

Turns are compared that come just after a compaction, when the prompt is short. What the user stated in the first turn
and later ones is known at the end, and what was removed can be read: else the measurement breaks. Each conversation has
a process of its own: `python -m bench.long_conversation STORAGE FOLDER TURNS` prints what it saw as JSON.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from bench.line import Effort, Line
from holdfast.models import SimulatorBackend
from holdfast.runtime import Agent, AgentConfig

TURNS = 2_000
QUICK_TURNS = 200
COMPACT_AT = 4_000
AFTER = 5
"""Turns after a compaction that count."""
COMPACTIONS = 8
"""Of the first and the last."""
SLOWER_AT_MOST = 1.5
GROWTH_AT_MOST = 1.25
STORAGES = {"file": "a file", "store": "SQLite"}
MINUTES = 30


def measure(effort: Effort) -> list[Line]:
    """A turn late in a conversation costs little more than an early one, and the process does not grow."""
    turns = QUICK_TURNS if effort.quick else TURNS
    lines: list[Line] = []
    for storage, name in STORAGES.items():
        with tempfile.TemporaryDirectory(dir=effort.folder) as place:
            words = [sys.executable, "-m", "bench.long_conversation", storage, place, str(turns)]
            done = subprocess.run(words, stdout=subprocess.PIPE, check=True, timeout=60 * MINUTES)
        seen: dict[str, float] = json.loads(done.stdout)
        ratio, growth = seen.pop("ratio"), seen.pop("growth")
        what = f"a turn at the end of {turns:,} in {name}, against the beginning"
        lines += [
            Line(f"long-conversation-{storage}", what, "×", ratio, at_most=SLOWER_AT_MOST, beside=seen),
            Line(
                f"long-conversation-{storage}-memory",
                f"memory of the process after {turns:,} turns in {name}, against a tenth of them",
                "×",
                growth,
                at_most=GROWTH_AT_MOST,
            ),
        ]
    return lines


async def talk(storage: str, folder: Path, turns: int) -> dict[str, float]:
    """The numbers of one conversation; AssertionError if it has forgotten something."""
    agent = Agent(SimulatorBackend(), AgentConfig(storage=storage), folder)
    agent.session.auto_compaction_input_tokens_threshold = COMPACT_AT
    facts = {1: ("dog", "Rex"), turns // 4: ("boat", "Argo"), turns * 3 // 4: ("horse", "Bucephalus")}
    wall: list[list[float]] = [[]]
    cpu: list[list[float]] = [[]]
    """Of the turns after each compaction."""
    early_memory = 0
    for number in range(1, turns + 1):
        thing, name = facts.get(number, ("", ""))
        began, worked = time.perf_counter(), time.process_time()
        await agent.run(f"My {thing} is {name}." if thing else _padding(number))
        wall[-1].append(time.perf_counter() - began)
        cpu[-1].append(time.process_time() - worked)
        compaction = agent.session.compaction
        if compaction is not None and compaction.count >= len(wall):
            wall.append([])
            cpu.append([])
        if number == turns // 10:
            early_memory = _memory()
    growth = _memory() / early_memory
    for thing, name in facts.values():
        assert name in await agent.run(f"What is my {thing}?"), f"the {thing} is forgotten"
    removed = {message.text for message in agent.session.history()}
    assert {"My dog is Rex.", _padding(2), _padding(turns // 2)} <= removed, "what was removed cannot be read"
    return {
        "ratio": _late(wall) / _early(wall),
        "growth": growth,
        "early ms": 1_000 * _early(wall),
        "late ms": 1_000 * _late(wall),
        "CPU ratio": _late(cpu) / _early(cpu),
        "compactions": len(wall) - 1,
    }


def _memory() -> int:
    """What this process has in memory, in pages."""
    return int(Path("/proc/self/statm").read_text().split()[1])


def _padding(number: int) -> str:
    return f"Tell me about the number {number}. " + "And then go on. " * 12


def _early(times: list[list[float]]) -> float:
    return median(each for some in times[1 : 1 + COMPACTIONS] for each in some[:AFTER])


def _late(times: list[list[float]]) -> float:
    return median(each for some in times[1:-1][-COMPACTIONS:] for each in some[:AFTER])


if __name__ == "__main__":
    print(json.dumps(asyncio.run(talk(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))))
