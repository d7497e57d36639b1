"""How stores grow: ours beside others', each at full durability, in one run. `python -m bench.growth [--publish]`.

Each store runs in a process of its own, one after the other, in the environment that `make peers` makes. With
--publish the curves, the numbers and the machine they are from go to docs/performance/.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.growth_one import PEERS
from bench.machine import describe
from bench.report import new_folder, now

PYTHON = Path(".venv-peers/bin/python")
SUBJECTS = ("holdfast", "raw", *PEERS)
CURVES = (
    ("long", "events", "append", "one more append, ms"),
    ("long", "events", "resume", "going on with the session, ms"),
    ("long", "events", "bytes", "bytes on disk per event"),
    ("many", "sessions", "list", "a list of sessions, ms"),
)
PUBLISHED = Path("docs/performance")


def main() -> int:
    """Measure, draw, keep."""
    parser = argparse.ArgumentParser("bench.growth", description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long filling up to one size may take (30)")
    parser.add_argument("--only", action="append", choices=SUBJECTS)
    parser.add_argument("--publish", action="store_true", help="put the curves into docs/performance")
    options = parser.parse_args()
    if not PYTHON.exists():
        sys.exit("the other stores are not installed: make peers")
    folder = new_folder(Path(".artifacts"), now())
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=folder, prefix="files-") as place:
        machine = describe(Path(place))
        for name in options.only or SUBJECTS:
            print(f"{name} …", file=sys.stderr, flush=True)
            command = [
                str(PYTHON),
                "-m",
                "bench.growth_one",
                name,
                f"{Path(place).resolve()}/{name}",
                str(options.seconds),
            ]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
            if done.returncode:
                print(f"{name} BROKE", file=sys.stderr)
                return 1
            found.append(json.loads(done.stdout.splitlines()[-1]))
    report = {"started": now().isoformat(timespec="seconds"), "machine": machine, "stores": found}
    places = [folder, *([PUBLISHED] if options.publish else [])]
    for target in places:
        target.mkdir(parents=True, exist_ok=True)
        (target / "growth.json").write_text(json.dumps(report, indent=1) + "\n")
        draw(report, target / "growth.svg")
    show(report)
    print(f"kept in {', '.join(map(str, places))}")
    return 0


def show(report: dict[str, Any]) -> None:
    """Every number, a store below the other."""
    for kind, size, value, title in CURVES:
        print(f"\n{title}")
        for store in report["stores"]:
            points = "  ".join(f"{point[size]:>7,.0f}: {point[value]:>9,.2f}" for point in store[kind])
            print(f"  {store['name']:<62} {points or 'not offered'}")


def draw(report: dict[str, Any], path: Path) -> None:
    """Four pictures, both axes logarithmic: a flat line is what one wants."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "holdfast"
    from matplotlib import pyplot

    figure, places = pyplot.subplots(2, 2, figsize=(12, 9), layout="constrained")
    for axes, (kind, size, value, title) in zip(places.flat, CURVES, strict=True):
        for number, store in enumerate(report["stores"]):
            points = store[kind]
            if points:
                ours = store["name"].startswith("holdfast")
                axes.plot(
                    [point[size] for point in points],
                    [point[value] for point in points],
                    color=f"C{number}",
                    marker="o",
                    linewidth=3 if ours else 1.5,
                    label=store["name"],
                    zorder=5 if ours else 2,
                )
        axes.set(xscale="log", yscale="log", xlabel=size, title=title)
        axes.grid(visible=True, alpha=0.3)
    places.flat[0].legend(fontsize=7)
    machine = report["machine"]
    figure.suptitle(
        f"{report['started'][:10]} · {machine['cores']} cores, {machine['cpu']}, {machine['disk']} · "
        f"Python {machine['python']} · every append synced",
        fontsize=9,
    )
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


if __name__ == "__main__":
    sys.exit(main())
