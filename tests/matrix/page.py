"""The matrix for readers: what stands between the marks of docs/matrix.md, made of the results and the judgements."""

from collections import Counter
from collections.abc import Sequence

from tests.matrix.cell import FAULT, PARTS, TIMEOUT, CellRun, Part, Unproven
from tests.matrix.results import Judgement, Judgements, judgement_of

from holdfast.prove.explore.judge.claims import CLAIMS
from holdfast.prove.report.markdown import block, cell
from holdfast.prove.runtime.proofs import GATE, catalogue

BEGIN, END = "<!-- matrix: begin -->", "<!-- matrix: end -->"
LEFT_OUT, NOT_RUN = "left out", "not run"
NOT_JUDGED = "not judged yet"

Runs = dict[tuple[str, Part], CellRun]


def put_into(page: str, picture: str, templates: Sequence[str], runs: Runs, judged: Judgements) -> str:
    """The page with the matrix between its two marks."""
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    parts = [
        f"![{description(templates, runs)}]({picture})",
        *_summary(templates, runs),
        *_proof_by_proof(templates, runs),
        *_explored(templates, runs),
        *_disproofs(templates, runs, judged),
        *_open(templates, runs),
        *_left_out(templates, runs),
        *_made(templates, runs),
    ]
    return f"{before}{BEGIN}\n" + "\n".join(parts) + f"\n{END}{after}"


def verdict_of(run: CellRun | None, claim: str) -> str:
    """What a run says of a claim, in a word or two."""
    if run is None or run.verdict == FAULT:
        return NOT_RUN
    return run.tried.get(claim, LEFT_OUT)


def counted(run: CellRun | None, claims: Sequence[str] | None = None) -> str:
    """How many of the claims, or of all that were tried, have which verdict."""
    if run is None:
        return NOT_RUN
    if run.verdict == FAULT:
        return "could not be run"
    verdicts = Counter(verdict for claim, verdict in run.tried.items() if claims is None or claim in claims)
    told = [f"{count} {verdict}" for verdict, count in verdicts.items()]
    return ", ".join([*told, f"{len(run.left_out)} left out"] if claims is None and run.left_out else told)


def description(templates: Sequence[str], runs: Runs) -> str:
    """The picture in words, for whoever does not see it."""
    told = []
    for template in templates:
        said = [counted(runs.get((template, "catalogue")))]
        if explored := _ran(runs.get((template, "explore"))):
            said.append(f"explored: {explored.explored['histories']} histories, {found(explored)}")
        told.append(f"{template}: {'; '.join(said)}")
    return "The matrix. " + ". ".join(told)


def _ran(run: CellRun | None) -> CellRun | None:
    return run if run is not None and run.verdict != FAULT else None


def found(run: CellRun) -> str:
    """What exploring found, in a few words."""
    names = [each.name for each in run.disproofs]
    unclear = [each.name for each in run.unproven if each.verdict != "disproven"]
    told = [f"{', '.join(names)} violated"] if names else []
    told += [f"{', '.join(unclear)} undecided"] if unclear else []
    return "; ".join(told) or "nothing found"


def _summary(templates: Sequence[str], runs: Runs) -> list[str]:
    rows = ["", "| template | runtime | four gates | catalogue | explored |", "|---|---|---|---|---|"]
    for template in templates:
        proven, explored = runs.get((template, "catalogue")), runs.get((template, "explore"))
        version = next((run.runtime for run in (proven, explored) if run is not None and run.runtime), "–")
        said = (
            f"{found(ran)} in {ran.explored['histories']} histories" if (ran := _ran(explored)) else counted(explored)
        )
        link = f"[{template}](../templates/{template}/README.md)"
        rows.append(f"| {link} | {cell(version)} | {counted(proven, GATE)} | {counted(proven)} | {said} |")
    return rows


def _proof_by_proof(templates: Sequence[str], runs: Runs) -> list[str]:
    names = [template for template in templates if _ran(runs.get((template, "catalogue")))]
    rows = [f"| proof | {' | '.join(names)} |", "|---|" + "---|" * len(names)]
    for proof in catalogue():
        verdicts = [verdict_of(runs.get((template, "catalogue")), proof) for template in names]
        rows.append(f"| [{proof}](proofs.md#{proof}) | {' | '.join(map(_shown, verdicts))} |")
    return ["", "## Proof by proof", "", *rows] if names else []


def _shown(verdict: str) -> str:
    return {"disproven": "**disproven**", LEFT_OUT: "–"}.get(verdict, verdict)


def _explored(templates: Sequence[str], runs: Runs) -> list[str]:
    explored = [run for template in templates if (run := _ran(runs.get((template, "explore"))))]
    claims = [name for name in CLAIMS if any(name in run.tried for run in explored)]
    rows = [
        "| template | histories | operations | kills, stops, pauses | " + " | ".join(claims) + " |",
        "|---|---:|---:|---:|" + "---|" * len(claims),
    ]
    for run in explored:
        faults = ", ".join(str(run.explored[name]) for name in ("kills", "stops", "pauses"))
        verdicts = " | ".join(_shown(verdict_of(run, claim)) for claim in claims)
        counts = f"{run.explored['histories']} | {run.explored['operations']}"
        rows.append(f"| {run.template} | {counts} | {faults} | {verdicts} |")
    if not explored:
        return []
    says = [f"- *{name}*: {CLAIMS[name].says}" for name in claims]
    few = "*Proven* is what none of these histories violated; the fewer they are, the less it says."
    return ["", "## What exploring tried", "", *rows, "", few, "", *says]


def _disproofs(templates: Sequence[str], runs: Runs, judged: Judgements) -> list[str]:
    lines = ["", "## What was disproven"]
    for run in _in_order(templates, runs):
        for disproof in run.disproofs:
            lines += _disproof(run, disproof, judgement_of(run, disproof, judged))
    return [*lines, "", "Nothing."] if len(lines) == 2 else lines


def _disproof(run: CellRun, disproof: Unproven, judgement: Judgement | None) -> list[str]:
    place = disproof.name if run.part == "catalogue" else f"{disproof.name} (explored)"
    lines = ["", f"### {run.template}: {place}", "", f"{cell(disproof.reason)}."]
    if judgement is None:
        lines += ["", f"Whose defect: **{NOT_JUDGED}**."]
    else:
        known = judgement.upstream or ("no public issue was found" if judgement.whose == "runtime" else "")
        lines += ["", f"Whose defect: **the {judgement.whose}'s** ({run.runtime}). {judgement.says.strip()}"]
        lines += ["", f"Upstream: {known}."] if known else []
        lines += ["", "By hand:", "", *block(judgement.by_hand.strip())]
    grounds = [f"expected: {disproof.expected}"] if disproof.expected else []
    grounds += [f"got: {disproof.got}"] if disproof.got else []
    numbered = [f"{number:>2}. {line}" for number, line in enumerate(disproof.history, 1)]
    title = "The smallest history" if run.part == "explore" else "What was done"
    return [
        *lines,
        "",
        f"{title}:",
        "",
        *block("\n".join([*numbered, *grounds])),
        "",
        f"Again: `{_again(run, disproof)}`",
    ]


def _again(run: CellRun, claim: Unproven) -> str:
    more = f"--seed {run.seed} --timeout {TIMEOUT:g}"
    if run.part == "explore":
        return f"holdfast prove explore --template {run.template} --profile all --budget {run.budget} {more}"
    return f"holdfast prove --template {run.template} --only {claim.name} {more}"


def _open(templates: Sequence[str], runs: Runs) -> list[str]:
    """What could not be judged by the proof itself, and what could not be run at all."""
    lines = [
        f"- {run.template}, {each.name} ({run.part}): {cell(each.reason)}"
        for run in _in_order(templates, runs)
        for each in run.unproven
        if each.verdict != "disproven"
    ]
    lines += [f"- {run.template} ({run.part}): {cell(run.fault)}" for run in runs.values() if run.verdict == FAULT]
    return ["", "## What could not be judged", "", *lines] if lines else []


def _left_out(templates: Sequence[str], runs: Runs) -> list[str]:
    """Each reason once, with the templates that it is true of."""
    whose: dict[tuple[Part, tuple[str, ...], str], list[str]] = {}
    for run in _in_order(templates, runs):
        reasons: dict[str, list[str]] = {}
        for name, reason in run.left_out.items():
            reasons.setdefault(reason, []).append(name)
        for reason, names in reasons.items():
            whose.setdefault((run.part, tuple(names), reason), []).append(run.template)
    ordered = sorted(whose.items(), key=lambda found: PARTS.index(found[0][0]))
    ran = {part: sum(_ran(runs.get((template, part))) is not None for template in templates) for part in PARTS}
    lines = [
        f"- {', '.join(names)} ({part}; {'all' if len(of) == ran[part] else ', '.join(of)}): {cell(reason)}"
        for (part, names, reason), of in ordered
    ]
    return ["", "## What was left out, and why", "", *lines] if lines else []


def _made(templates: Sequence[str], runs: Runs) -> list[str]:
    """How each run was made, and what was not run."""
    rows = ["| template | part | date | Holdfast | seed | seconds | network |", "|---|---|---|---|---:|---:|---|"]
    for run in _in_order(templates, runs):
        part = f"{run.part}, {run.budget}" if run.budget else run.part
        made = f"{run.holdfast} at {run.code}"
        rows.append(
            f"| {run.template} | {part} | {run.date} | {made} | {run.seed} | {run.seconds:.0f} | {run.network} |"
        )
    lost = [f"{template} ({part})" for template in templates for part in PARTS if not _ran(runs.get((template, part)))]
    missing = ["", f"Not run: {', '.join(lost)}."] if lost else []
    return ["", "## The runs", "", *rows, *missing]


def _in_order(templates: Sequence[str], runs: Runs) -> list[CellRun]:
    return [run for template in templates for part in PARTS if (run := _ran(runs.get((template, part))))]
