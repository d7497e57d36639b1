"""A run as a picture: how much of each goal was reached."""

from pathlib import Path

from bench.line import Line
from bench.report import Report, number

COLOURS = {True: "#2a7f62", False: "#b3402f", None: "#999999"}
WIDEST = 3.0


def draw(report: Report, path: Path) -> None:
    """One bar per line; at 1 the goal is met."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    lines = list(reversed(report.lines))
    figure, axes = pyplot.subplots(figsize=(11, 0.55 * len(lines) + 1.6), layout="constrained")
    widths = [min(line.reached or 0, WIDEST) for line in lines]
    bars = axes.barh(range(len(lines)), widths, color=[COLOURS[line.holds] for line in lines], height=0.6)
    axes.bar_label(bars, labels=[_label(line) for line in lines], padding=4, fontsize=9)
    axes.axvline(1, color="black", linewidth=1, linestyle="--")
    axes.set_yticks(range(len(lines)), [line.what for line in lines], fontsize=9)
    axes.set_xlim(0, WIDEST * 1.4)
    axes.set_xlabel("part of the goal reached; the dashed line is the goal")
    machine = report.machine
    axes.set_title(
        f"{report.started:%Y-%m-%d} · {machine['cores']} cores, {machine['cpu']} · Python {machine['python']} · "
        f"SQLite {machine['sqlite']}",
        fontsize=9,
    )
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def draw_curve(report: Report, line: Line, path: Path) -> None:
    """A line's curve: one picture for each of its numbers."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    along, *names = line.curve[0]
    figure, places = pyplot.subplots(1, len(names), figsize=(5 * len(names), 4), layout="constrained", squeeze=False)
    for axes, name in zip(places.flat, names, strict=True):
        axes.plot([point[along] for point in line.curve], [point[name] for point in line.curve], marker="o")
        axes.set_xscale("log", base=2)
        axes.set_ylim(bottom=0)
        axes.set(xlabel=along, title=name)
        axes.grid(visible=True, alpha=0.3)
    machine = report.machine
    figure.suptitle(f"{line.name} · {report.started:%Y-%m-%d} · {machine['cores']} cores, {machine['cpu']}", fontsize=9)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _label(line: Line) -> str:
    return f"{number(line.value, line.unit)} (goal {line.goal})" if line.value is not None else "not run"
