"""`python -m bench`: measure, report, keep."""

import argparse
import sys
import tempfile
import traceback
from pathlib import Path

from bench import (
    attacks,
    batch,
    bounded,
    busy_loop,
    bystander,
    create,
    dashboard,
    doctor,
    hooks,
    http,
    http_batch,
    http_token,
    imports,
    install,
    light_import,
    long_conversation,
    memory,
    postgres,
    programs,
    ready,
    single,
    size,
    slow_disk,
    subscribers,
    together,
    two_gateways,
)
from bench.line import Effort, Line, Measurement
from bench.machine import describe
from bench.plot import draw, draw_curve
from bench.report import Report, new_folder, now, show

ARTIFACTS = Path(".artifacts")

MEASUREMENTS: dict[str, Measurement] = {
    "single": single.measure,
    "together": together.measure,
    "slow-disk": slow_disk.measure,
    "batch": batch.measure,
    "size": size.measure,
    "bounded": bounded.measure,
    "busy-loop": busy_loop.measure,
    "bystander": bystander.measure,
    "attacks": attacks.measure,
    "http": http.measure,
    "http-token": http_token.measure,
    "http-batch": http_batch.measure,
    "create": create.measure,
    "beside-doctor": doctor.measure,
    "programs": programs.measure,
    "hooks": hooks.measure,
    "subscribers": subscribers.measure,
    "memory": memory.measure,
    "import-runtime": light_import.measure,
    "install": install.measure,
    "long-conversation": long_conversation.measure,
    "ready": ready.measure,
    "import": imports.measure,
    "postgres": postgres.measure,
    "two-gateways": two_gateways.measure,
    "dashboard": dashboard.measure,
}


def main() -> int:
    """Run what was asked for; 0 unless something broke."""
    options = _options()
    started = now()
    folder = new_folder(ARTIFACTS, started)
    lines: list[Line] = []
    broken = False
    with tempfile.TemporaryDirectory(dir=folder, prefix="files-") as place:
        repeats, seconds = (3, 0.4) if options.quick else (options.repeats, options.seconds)
        effort = Effort(repeats, seconds, Path(place).resolve(), options.quick, options.minutes)
        machine = describe(effort.folder)
        if machine["disk"] == "tmpfs":
            _say("this folder is in memory: syncing costs nothing here, and the numbers mean nothing")
        for name in options.only or MEASUREMENTS:
            _say(f"{name} …")
            try:
                lines += MEASUREMENTS[name](effort)
            except Exception:
                broken = True
                _say(f"{name} BROKE:\n{traceback.format_exc()}")
    report = Report(started, machine, lines)
    (folder / "bench.json").write_text(report.as_json())
    if lines:
        draw(report, folder / "bench.png")
    for line in lines:
        if line.curve:
            draw_curve(report, line, folder / f"{line.name}.png")
    if options.json:
        print(report.as_json())
    else:
        show(report)
        print(f"kept in {folder}")
    for line in lines:
        if line.holds is None:
            _say(f"{line.what}: {line.note}")
    return 1 if broken else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("bench", description="Speed, side by side, at full durability.")
    parser.add_argument("--quick", action="store_true", help="three short repeats")
    parser.add_argument("--repeats", type=int, default=5, help="pairs to measure of each line (5)")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long one side of a pair runs (1)")
    parser.add_argument("--minutes", type=float, default=1.0, help="how long the dashboard follows a live session (1)")
    parser.add_argument("--only", action="append", choices=MEASUREMENTS, metavar="LINE", help=", ".join(MEASUREMENTS))
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    return parser.parse_args()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
