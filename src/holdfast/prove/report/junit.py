"""`junit.xml`, for the many programs that read it.

Disproven is a failure, a fault and what could not be judged are errors, what was not reached or left out is skipped.
A run that is not proven has at least one failure or error in it, so that nobody's reader shows it green.
"""

from xml.etree import ElementTree as Tree

from holdfast.prove.report.markup import visible
from holdfast.prove.report.run_record import Document, outcomes, text
from holdfast.prove.verdict import GROUNDS


def junit(summary: Document) -> bytes:
    """The run as one test suite, each prerequisite and each proof as a test case."""
    target = summary.get("target")
    of = text(target.get("name")) if isinstance(target, dict) else ""
    suite = Tree.Element(
        "testsuite", name=_xml(f"holdfast prove {of}".strip()), timestamp=_xml(text(summary.get("started_at")))
    )
    for outcome in outcomes(summary):
        _mark(_case(suite, outcome), outcome)
    left_out = summary.get("left_out")
    for name, reason in left_out.items() if isinstance(left_out, dict) else ():
        Tree.SubElement(_case(suite, {"name": name}), "skipped", message=_xml(f"left out: {text(reason)}"))
    wrong = [*suite.iter("failure"), *suite.iter("error")]
    if summary.get("exit_code") != 0 and not wrong:
        _mark(_case(suite, {"name": "run"}), {"reason": f"the run is {text(summary.get('verdict'))}", "fault": True})
    suite.set("tests", str(len(suite)))
    for plural, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(plural, str(sum(1 for _ in suite.iter(tag))))
    suite.set("time", _seconds(summary))
    properties = Tree.Element("properties")
    for key in ("verdict", "seed", "wire"):
        Tree.SubElement(properties, "property", name=key, value=_xml(text(summary.get(key))))
    suite.insert(0, properties)
    root = Tree.Element("testsuites")
    root.append(suite)
    Tree.indent(root)
    written: bytes = Tree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _case(suite: Tree.Element, outcome: Document) -> Tree.Element:
    name = _xml(text(outcome.get("name")))
    return Tree.SubElement(suite, "testcase", classname="holdfast.prove", name=name, time=_seconds(outcome))


def _mark(case: Tree.Element, outcome: Document) -> None:
    verdict, reason = outcome.get("verdict"), _xml(text(outcome.get("reason")))
    if outcome.get("fault"):
        kind, tag = "fault", "error"
    elif verdict == "disproven":
        kind, tag = "disproven", "failure"
    elif verdict == "inconclusive":
        kind, tag = "inconclusive", "error"
    elif verdict == "not reached":
        kind, tag = "not reached", "skipped"
    else:
        return
    mark = Tree.SubElement(case, tag, message=f"{kind}: {reason}")
    if tag != "skipped":
        mark.set("type", kind)
    told = [f"{key}: {text(outcome.get(key))}" for key in GROUNDS if outcome.get(key)]
    mark.text = _xml("\n".join(told)) or None


def _seconds(outcome: Document) -> str:
    seconds = outcome.get("seconds")
    return f"{seconds:.3f}" if isinstance(seconds, int | float) else "0.000"


def _xml(said: str) -> str:
    """The text without what XML has no way to write (most controls, U+FFFE and U+FFFF)."""
    return visible(said)
