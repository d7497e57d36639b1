"""Reports: what a run left in its folder as a page, as JUnit XML and as Markdown, and as notes for a CI system."""

from pathlib import Path

from holdfast.prove.report.html import page
from holdfast.prove.report.junit import junit
from holdfast.prove.report.markdown import markdown
from holdfast.prove.report.run_record import read

__all__ = ["write"]


def write(folder: Path) -> Path:
    """Make the reports of a folder, again if they are there; returns the path of the page."""
    recorded = read(folder)
    report = folder / "report.html"
    report.write_text(page(recorded), encoding="utf-8")
    (folder / "junit.xml").write_bytes(junit(recorded.summary))
    (folder / "summary.md").write_text(markdown(recorded.summary), encoding="utf-8")
    return report
