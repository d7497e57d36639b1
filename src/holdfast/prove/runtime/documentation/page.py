"""The page that describes every proof and every broken runtime (docs/proofs.md), made from the code that runs them."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from holdfast.prove.broken.expected import KINDS, Expected
from holdfast.prove.runtime.documentation.example_code import Excerpt, excerpts
from holdfast.prove.runtime.proof import Proof
from holdfast.prove.runtime.proofs import catalogue

HEAD = """\
# The proofs

<!-- written by scripts/proofs-page from the proofs themselves; do not edit -->

What `holdfast prove` does to a runtime, proof by proof, and the broken runtimes that show that each proof can fail.
How to run them is told in [the proof](prove.md), how to write one in [proving your own](prove-your-own.md).
What is likely wrong where a proof fails, and how an agent on the official SDK does it right, is shown with each. The
code is from [an agent that is proven](../examples/targets/sdk_durable.py) and from
[one that is not](../examples/targets/sdk_memory.py), which share their model.
"""
POWER = {
    "stop": "SIGTERM and a start",
    "kill": "SIGKILL and a start",
    "pause": "SIGSTOP for 5 seconds, and SIGCONT",
    "upgrade": "SIGTERM, and a start as the next version on the same data",
}
REQUIRES = {
    "workspace": "a workspace that can be seen",
    "peer": "a way to ask the second agent",
    "approval": "an agent card with a skill that has the tag `approval`",
    "streaming": "an agent card that says that it streams",
    "both wires": "an agent card that offers both versions of A2A",
    "tasks": "answers that are tasks, not only messages",
}


def page(examples: Path) -> str:
    """The whole page as Markdown; the folder has the examples that show what to do."""
    proofs = catalogue().values()
    shown = excerpts(examples)
    return "".join(
        (
            HEAD,
            "\n| proof | claim | profile | gate |\n|---|---|---|---|\n",
            *(
                f"| [{proof.name}](#{proof.name}) | {proof.claim} | {proof.profile} | {_tick(proof.gate)} |\n"
                for proof in proofs
            ),
            "\nA release waits for those that are a gate.\n",
            *(_section(proof, shown) for proof in proofs),
            "\n## Broken on purpose\n\n",
            "Each is honest but for one defect, and disproven by these proofs and no others. Some show only in\n",
            "histories that nobody wrote down: those are found by exploring.\n\n",
            "| `--target` | its defect | disproven by | not reached | seen in |\n|---|---|---|---|---|\n",
            *(
                f"| `broken:{kind}` | {expected.defect} | {_named(proofs, expected.disproven) or _else(expected)} "
                f"| {_named(proofs, expected.not_reached)} | {expected.source} |\n"
                for kind, expected in KINDS.items()
            ),
        )
    )


def _section(proof: Proof, shown: Mapping[str, Excerpt]) -> str:
    rows = {
        "steps": _sentence(proof.steps.__doc__),
        "then": _then(proof),
        "afterwards": _sentence(proof.after.__doc__) if proof.after else "",
        "after SIGKILL and a start, too": _sentence(proof.after_kill.__doc__) if proof.after_kill else "",
        "holds when": _sentence(proof.check.__doc__),
        "profile": proof.profile,
        "needs": ", ".join(proof.needs),
        "wants of the target": ", ".join(REQUIRES[name] for name in sorted(proof.requires)),
        "disproves": ", ".join(f"`broken:{kind}`" for kind, found in KINDS.items() if proof.name in found.disproven),
        "where it fails": proof.remedy,
    }
    lines = (f"- **{title}**: {text}\n" for title, text in rows.items() if text)
    code = (_code(name, shown[name]) for name in proof.shown_in)
    return "".join((f"\n## {proof.name}\n\n{proof.claim[0].upper()}{proof.claim[1:]}.\n\n", *lines, *code))


def _code(name: str, excerpt: Excerpt) -> str:
    """A part of an example; it is run where the whole example is, and not by itself."""
    return f"\n`{name}` of {excerpt.file}:\n\n<!-- not run: a part of an example -->\n```python\n{excerpt.code}\n```\n"


def _then(proof: Proof) -> str:
    """What is done to the target after the steps."""
    if proof.power is None:
        return ""
    often = "" if proof.times == 1 else f", {proof.times} times"
    with_whom = "and nothing is said to the target in between" if proof.alone else "shared with all proofs that want it"
    return f"{POWER[proof.power]}{often}, {with_whom}"


def _sentence(docstring: str | None) -> str:
    """A docstring as one line."""
    return " ".join((docstring or "").split())


def _else(expected: Expected) -> str:
    return "(exploring)" if expected.explore else ""


def _tick(yes: bool) -> str:
    return "yes" if yes else ""


def _named(proofs: Iterable[Proof], names: frozenset[str]) -> str:
    return ", ".join(proof.name for proof in proofs if proof.name in names)
