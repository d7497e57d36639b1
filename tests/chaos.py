"""Fault runs of any length. Each stops by itself and exits 1 at the first violation.

    make chaos                                       rounds of kills, races and followers of the store, 2 minutes
    make chaos ARGS="--minutes 5"                    longer
    make chaos ARGS="kills"                          1,000 kills of the gateway under 32 retrying clients
    make chaos ARGS="pauses --faults 500"            gateways on PostgreSQL that are paused, killed, stopped and cut off
    make chaos ARGS="feeds"                          100,000 events followed over 5,000 broken connections
    make chaos ARGS="http"                           1,000,000 hostile inputs to the gateway
    make chaos ARGS="attacks --minutes 5"            a hostile tenant at work beside another one
    make chaos ARGS="proofs"                         the bundled runtime proven 50 times
    make chaos ARGS="service"                        50 runs of three programs over one gateway, with random kills
    make chaos ARGS="kinds"                          every proof put to every broken runtime, over both wires
    make chaos ARGS="clauses"                        every clause of a store put to every little store with a defect
    make chaos ARGS="explore --histories 1000"       histories explored on the bundled runtime (--runtime: another)
    make chaos ARGS="imports"                        200 kills of imports of the older layout, on both engines
    make chaos ARGS="looks"                          1,000 runs of doctor and a probe beside gateways, on both engines
    make chaos ARGS="machine --steps 100000"         every public write of the store, with faults, on both engines

A round is on SQLite and on PostgreSQL in turn, with a new seed each. Seeds are printed, and `--seed` runs the same
again (with `--rounds 1`, that round).
"""

import argparse
import asyncio
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from tests.prove.prover import Proved, prove_as_process
from tests.prove.store.defects import DEFECTS, wrong_verdicts
from tests.prove.store.putting import SMALL, little, put
from tests.support.attacked import attack_for
from tests.support.broken_feeds import follow_through_chaos
from tests.support.explored_batches import RUNTIMES, explore_in_batches
from tests.support.following import follow_processes
from tests.support.gateway_kills import Outcome, kill_gateways
from tests.support.hostile import attack
from tests.support.import_kills import kill_imports
from tests.support.kills import kill_cycles
from tests.support.kind_results import KindResults, table
from tests.support.kind_runs import KindRun, KindTask, WireName, run_kinds
from tests.support.looks import look_beside_writers
from tests.support.machine.driver import run_machine
from tests.support.pauses import pause_gateways
from tests.support.postgres import in_memory, running_server
from tests.support.races import run_races
from tests.support.service_runs import ServiceRun, service_runs

from holdfast import __version__
from holdfast.prove.broken.expected import KINDS
from holdfast.prove.runtime.proofs import catalogue

READY_SECONDS = 1.0
KILLS_OF_A_STORE = 100
FAULTS_OF_A_STORE = 125
IMPORTS_OF_A_STORE = 5
LOOKS_AT_A_STORE = 20
MEAN_BYTES = 75_000


def say(text: str) -> None:
    """Tell the person who waits."""
    sys.stderr.write(text + "\n")


def next_seed(seed: int) -> int:
    """The seed after this one."""
    return (seed * 6364136223846793005 + 1442695040888963407) % 2**32


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


def rounds(options: argparse.Namespace, root: Path, seed: int) -> list[str]:
    """Rounds until the time is up; what was wrong."""
    end = time.monotonic() + options.minutes * 60
    done = 0
    with running_server() as server:
        while done == 0 or (time.monotonic() < end and done != options.rounds):
            done += 1
            for engine in ("sqlite", "postgresql"):
                folder = Path(tempfile.mkdtemp(dir=root))

                def new_url(engine: str = engine, folder: Path = folder) -> str:
                    if engine == "sqlite":
                        return f"sqlite:///{folder}/{secrets.token_hex(4)}.db"
                    return server.new_database()

                say(f"round {done}, {engine}, seed {seed}")
                found = asyncio.run(one_round(new_url, folder, seed))
                if found:
                    return found
            seed = next_seed(seed)
    say(f"{done} rounds")
    return []


def kills(options: argparse.Namespace, root: Path, seed: int) -> list[str]:
    """So many kills of the gateway, a tenth of them on PostgreSQL, half of those with two gateways; what was wrong."""
    ready: list[float] = []
    left = options.kills
    with running_server() as server:
        while left:
            folder = Path(tempfile.mkdtemp(dir=root))
            some = min(left, KILLS_OF_A_STORE)
            other = some // 10
            left -= some
            say(f"{some} kills, {left} to go, seed {seed}")
            on_file = asyncio.run(kill_gateways(f"sqlite:///{folder}/h.db", folder / "s", some - other, seed=seed))
            ready += on_file.ready
            outcomes = [("SQLite", on_file)]
            for gateways, share in ((1, other - other // 2), (2, other // 2)):
                run = kill_gateways(server.new_database(), folder / f"p{gateways}", share, gateways=gateways, seed=seed)
                outcomes += [(f"PostgreSQL, gateways: {gateways}", asyncio.run(run))] if share else []
            for name, outcome in outcomes:
                say(f"    {name}: {told(outcome)}")
                if outcome.wrong:
                    return outcome.wrong
            seed = next_seed(seed)
    middle = median(ready)
    say(f"ready again on SQLite after {spread(ready)} of {len(ready)} kills")
    return [f"ready again after {middle:.2f} s (median)"] if middle > READY_SECONDS else []


def pauses(options: argparse.Namespace, root: Path, seed: int) -> list[str]:
    """Faults of gateways on one PostgreSQL while clients talk and write, two and three gateways in turn; what was
    wrong. With `--faults` so many of them, else until the time is up."""
    end = None if options.faults else time.monotonic() + options.minutes * 60
    left = options.faults or sys.maxsize
    done, number, first = 0, 0, seed
    with running_server() as server:
        while left and (end is None or time.monotonic() < end):
            number += 1
            gateways, some = 2 + number % 2, min(left, FAULTS_OF_A_STORE)
            left -= some
            say(f"{some} faults of {gateways} gateways, holdfast {__version__}, seed {seed}")
            run = pause_gateways(
                server.new_database(), root / str(number), some, gateways=gateways, seed=seed, say=say, until=end
            )
            outcome = asyncio.run(run)
            say(f"    {outcome}")
            done += outcome.faults.total()
            if outcome.wrong:
                return outcome.wrong
            seed = next_seed(seed)
    share = f"--faults {options.faults}" if options.faults else f"--minutes {options.minutes:g}"
    say(f'{done} faults in all, holdfast {__version__}: make chaos ARGS="pauses {share} --seed {first}"')
    return []


def imports(options: argparse.Namespace, root: Path, seed: int) -> list[str]:
    """Kills of imports, on both engines in turn; nothing is returned, as what is wrong is asserted. One that came when
    the import had ended does not count.

    Each line tells a seed and how many kills are left: with both a run that was stopped goes on.
    """
    ends: Counter[str] = Counter()
    number, first = 0, seed
    with running_server() as server:
        while (left := options.import_kills - ends.total() + ends["ended"]) > 0:
            number += 1
            folder = Path(tempfile.mkdtemp(dir=root))
            engine = ("SQLite", "PostgreSQL")[number % 2]
            url = server.new_database() if number % 2 else f"sqlite:///{folder}/store.db"
            say(f"imports on {engine}: --seed {seed} --import-kills {left}")
            ends += asyncio.run(kill_imports(url, folder, IMPORTS_OF_A_STORE, seed=seed))
            shutil.rmtree(folder)
            seed = next_seed(seed)
    say("    " + ", ".join(f"{end} {times}" for end, times in ends.most_common()))
    say(
        f'{ends.total() - ends["ended"]} kills in all, holdfast {__version__}: make chaos ARGS="imports --seed {first}"'
    )
    return []


def told(outcome: Outcome) -> str:
    """A run of kills in a line."""
    clients = outcome.clients
    return (
        f"{len(outcome.ready)} kills, {clients.answered} calls acknowledged, {clients.cut} of them cut off first,"
        f" {clients.found_again} of these found written; ready again after {spread(outcome.ready)}"
    )


def spread(seconds: list[float]) -> str:
    """The middle, the tenth that is slowest, and the slowest."""
    slow = quantiles(seconds, n=10)[-1] if len(seconds) > 1 else seconds[0]
    return f"{median(seconds):.2f} s (median; 90 %: {slow:.2f}, all: {max(seconds):.2f})"


def feeds(options: argparse.Namespace, root: Path, seed: int) -> list[str]:
    """Subscribers of all kinds behind a proxy that breaks their connections; what was wrong."""
    say(f"{options.events} events over {options.breaks} broken connections, seed {seed}")
    began = time.monotonic()
    result = asyncio.run(follow_through_chaos(root, options.events, mean=MEAN_BYTES, breaks=options.breaks, seed=seed))
    say(
        f"{result.written} events, {result.delivered} deliveries to {len(result.subscribers)} subscribers,"
        f" {result.proxy.broken} connections broken in {time.monotonic() - began:.0f} s"
    )
    say("    " + ", ".join(f"{end} {times}" for end, times in result.proxy.ends.most_common()))
    return result.wrong


def looks(options: argparse.Namespace, root: Path, seed: int) -> list[str]:
    """Doctor in its modes, and a probe, beside a gateway that writes, twenty to a store; what was wrong.

    Every fifth store is on PostgreSQL.
    """
    done = acknowledged = number = 0
    began, first = time.monotonic(), seed
    with running_server() as server:
        while done < options.looks:
            number += 1
            data, some = root / f"data-{number}", min(LOOKS_AT_A_STORE, options.looks - done)
            url = server.new_database() if number % 5 == 0 else None
            result = asyncio.run(look_beside_writers(data, some, seed=seed, at_once=options.at_once, store=url))
            done, acknowledged = done + result.looks, acknowledged + result.acknowledged
            engine = "SQLite" if url is None else "PostgreSQL"
            say(f"{done} looks, {acknowledged} writes acknowledged, {time.monotonic() - began:.0f} s, {engine} {seed}")
            if result.wrong:
                return result.wrong
            shutil.rmtree(data)
            seed = next_seed(seed)
    say(f'holdfast {__version__}: make chaos ARGS="looks --looks {options.looks} --seed {first}"')
    return []


def http(options: argparse.Namespace, root: Path, seed: int) -> list[str]:
    """Hostile inputs to a gateway on SQLite; what was wrong."""
    say(f"{options.inputs} hostile inputs, seed {seed}")
    outcome = asyncio.run(attack(root, options.inputs, seed=seed, told=say))
    say(str(outcome))
    return outcome.violations


def attacks(options: argparse.Namespace, root: Path, seed: int) -> list[str]:
    """A mixture of attacks by one tenant until the time is up; what another had to suffer."""
    say(f"attacks for {options.minutes:g} minutes, seed {seed}")
    outcome = attack_for(root, options.minutes * 60, seed=seed)
    say(str(outcome))
    return outcome.wrong


def proofs(options: argparse.Namespace, root: Path, seed: int) -> list[str]:
    """The whole catalogue on the bundled runtime, again and again, on both engines and over both wires; what failed.

    The evidence of a run that failed is kept.
    """
    seconds: list[float] = []
    with running_server() as server:
        for number in range(options.proofs):
            artifacts = Path(tempfile.mkdtemp(dir=root))
            wire = ("1.0", "0.3")[number // 2 % 2]
            engine = ("SQLite", "PostgreSQL")[number % 2]
            store = ("--store", server.new_database()) if number % 2 else ()
            proved = prove_as_process("--json", "--seed", str(seed), "--wire", wire, *store, artifacts=artifacts)
            wrong = [f"{proof['name']}: {proof['reason']}" for proof in failed(proved)]
            say(f"{number + 1}: {engine}, wire {wire}, seed {seed}: {'; '.join(wrong) or 'proven'}")
            if wrong or proved.exit_code:
                kept = shutil.move(artifacts, Path(".artifacts") / "chaos" / f"{time.time_ns()}")
                return [*wrong, f"exit code {proved.exit_code}, evidence: {kept}"]
            shutil.rmtree(artifacts)
            seconds.append(proved.summary["seconds"])
            seed = next_seed(seed)
    say(f"the whole catalogue in {spread(seconds)}")
    return []


def service(options: argparse.Namespace, root: Path, seed: int) -> list[str]:
    """The three programs of apps/ over one gateway, killed at random; what was lost, doubled or not proven.

    The results are kept: with the same seed only those that are missing, or were not proven, are made, and with more
    `--runs` those that come after them.
    """
    results = options.results or Path(".artifacts") / "chaos" / f"service-{seed}.jsonl"
    evidence = root.with_name(f"holdfast-chaos-{results.stem}")
    say(f"{options.runs} runs, first seed {seed}, results: {results}")
    runs: list[ServiceRun] = []
    for run in service_runs(options.runs, seed, results, evidence, next_seed):
        say(f"{len(runs) + 1}: seed {run.seed}: {'; '.join(run.wrong) or f'proven, {run.kills} kills'} ({run.code})")
        if run.wrong:
            return [*run.wrong, f"evidence: {evidence}"]
        runs.append(run)
    shutil.rmtree(evidence, ignore_errors=True)
    codes = ", ".join(f"{code}: {times}" for code, times in Counter(run.code for run in runs).items())
    say(f"{len(runs)} runs, {sum(run.kills for run in runs)} kills, {spread([run.seconds for run in runs])}; {codes}")
    say(f'make chaos ARGS="service --runs {options.runs} --seed {seed}"')
    return []


def kinds(options: argparse.Namespace, root: Path, seed: int) -> list[str]:
    """The whole catalogue on every broken runtime, over both wires; what was not found, or found by the wrong proofs.

    What only exploring finds is explored. The results are kept, and a run with the same seed makes only those that are
    missing. A table of what found which kind, and what that took, is printed.
    """
    wires: tuple[WireName, ...] = ("1.0", "0.3")
    quick_first = sorted(KINDS, key=lambda kind: KINDS[kind].explore)
    tasks: list[KindTask] = [(kind, wire, ()) for kind in quick_first for wire in wires]
    results = KindResults(options.results or Path(".artifacts") / "chaos" / f"kinds-{seed}.jsonl", seed)
    left = results.missing(tasks)
    say(f"{len(left)} of {len(tasks)} runs of {len(catalogue())} proofs are left, {options.at_once} at once")
    say(f"holdfast {__version__}, seed {seed}, results: {results.path}")

    def tell(run: KindRun) -> None:
        results.add(run)
        if not run.wrong:
            shutil.rmtree(root / f"{run.kind}-{run.wire}")
        say(f"{run.kind}, wire {run.wire}: {'; '.join(run.wrong) or 'as expected'}")

    asyncio.run(run_kinds(left, root, at_once=options.at_once, seed=seed, told=tell))
    say(table(results.runs))
    return [wrong for run in results.runs for wrong in run.wrong]


def clauses(options: argparse.Namespace, root: Path, seed: int) -> list[str]:
    """The whole contract put to every little store with a defect; which clause accused the wrong one, or was silent."""
    wrong: list[str] = []
    for name in DEFECTS:
        verdicts = put("--adapter", little(name), *SMALL, artifacts=root / name).verdicts()
        disproven = [clause for clause, verdict in verdicts.items() if verdict == "disproven"]
        say(f"{name}: disproven by {', '.join(disproven)}")
        wrong += wrong_verdicts(name, verdicts)
    return wrong


def explore(options: argparse.Namespace, root: Path, seed: int) -> list[str]:
    """Histories explored on a runtime that is honest; what it was accused of."""
    say(f"{options.histories} histories on {options.runtime}, first seed {seed}, holdfast {__version__}")
    return explore_in_batches(options.histories, root, seed, runtime=options.runtime, next_seed=next_seed, told=say)


def machine(options: argparse.Namespace, root: Path, seed: int) -> list[str]:
    """The state machine: so many steps on each engine, with the same faults; what was wrong.

    A round of steps has a seed of its own, which is printed: `--steps 250 --seed` makes that round again.
    """
    say(f"{options.steps} steps on each engine, seed {seed}")
    began = time.monotonic()
    with running_server() as server:
        urls = [f"sqlite:///{root}/machine.db", server.new_database()]
        run = asyncio.run(run_machine(urls, options.steps, seed=seed, told=say))
    say(f"{run.steps} steps, {run.faults} faults in {time.monotonic() - began:.0f} s")
    say("    " + ", ".join(f"{kind} {times}" for kind, times in sorted(run.outcomes.items())))
    return run.wrong


def failed(proved: Proved) -> list[dict[str, Any]]:
    """What a run did not prove."""
    return [proof for proof in proved.summary["proofs"] if proof["verdict"] != "proven"]


RUNS = {
    "rounds": rounds,
    "kills": kills,
    "pauses": pauses,
    "feeds": feeds,
    "looks": looks,
    "http": http,
    "attacks": attacks,
    "proofs": proofs,
    "service": service,
    "imports": imports,
    "machine": machine,
    "kinds": kinds,
    "clauses": clauses,
    "explore": explore,
}


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(
        prog="make chaos", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="?", default="rounds", choices=RUNS)
    parser.add_argument(
        "--minutes", type=float, default=2.0, help="how long rounds, pauses or attacks go on (default 2)"
    )
    parser.add_argument("--rounds", type=int, default=0, help="at most this many rounds")
    parser.add_argument("--kills", type=int, default=1_000, help="kills of the gateway (default 1,000)")
    parser.add_argument("--faults", type=int, default=0, help="faults of paused gateways (default: by time)")
    parser.add_argument("--events", type=int, default=100_000, help="events to follow (default 100,000)")
    parser.add_argument("--looks", type=int, default=1_000, help="looks beside a gateway (default 1,000)")
    parser.add_argument("--breaks", type=int, default=5_000, help="connections to break (default 5,000)")
    parser.add_argument("--inputs", type=int, default=1_000_000, help="hostile inputs (default 1,000,000)")
    parser.add_argument("--proofs", type=int, default=50, help="runs of the proofs (default 50)")
    parser.add_argument("--runs", type=int, default=50, help="runs of the whole service (default 50)")
    parser.add_argument("--import-kills", type=int, default=200, help="kills of imports (default 200)")
    parser.add_argument("--steps", type=int, default=100_000, help="steps of the state machine (default 100,000)")
    parser.add_argument("--histories", type=int, default=1_000, help="histories to explore (default 1,000)")
    parser.add_argument("--runtime", choices=RUNTIMES, default="bundled", help="whom to explore (default bundled)")
    parser.add_argument("--at-once", type=int, default=2, help="broken kinds or looks side by side (default 2)")
    parser.add_argument("--results", type=Path, help="where kinds or service keep their results (default: by seed)")
    parser.add_argument("--seed", type=int, help="the first seed (default: drawn)")
    options = parser.parse_args()
    seed = secrets.randbits(32) if options.seed is None else options.seed
    root = Path(tempfile.mkdtemp(prefix="holdfast-chaos-", dir=in_memory()))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        found = RUNS[options.what](options, root, seed)
    except AssertionError as violation:
        found = [str(violation)]
    except (KeyboardInterrupt, SystemExit):
        shutil.rmtree(root, ignore_errors=True)
        raise
    if found:
        say("VIOLATED: " + "; ".join(found[:10]))
        say(f"what it left is in {root}")
        return 1
    shutil.rmtree(root)
    say("nothing violated")
    return 0


if __name__ == "__main__":
    sys.exit(main())
