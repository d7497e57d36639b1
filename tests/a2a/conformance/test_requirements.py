"""The page of requirements and the tests say the same."""

from collections import Counter

from tests.a2a.conformance.requirements import PAGE, row_of, rows, shown

REASONS = ("no: ", "not applicable: ")


def test_every_test_has_its_rows() -> None:
    on_page = {row[:3] + row[4:] for row in rows()}
    missing = [row_of(each) for each in shown() if tuple(each) not in on_page]
    assert missing == [], "the page lacks these rows"


def test_every_row_has_its_test_or_a_reason() -> None:
    tests = {tuple(each) for each in shown()}
    for row in rows():
        if row.test is None:
            assert row.holds.startswith(REASONS), f"neither a test nor a reason: {row}"
        else:
            assert row[:3] + row[4:] in tests, f"no such test: {row}"
            assert row.holds.startswith(("yes", "no: ")), f"neither yes nor no: {row}"


def test_no_row_is_there_twice_and_the_page_counts_them() -> None:
    found = rows()
    assert [row for row, count in Counter(found).items() if count > 1] == []
    page = PAGE.read_text()
    for version in ("1.0", "0.3"):
        count = Counter(row.holds.partition(":")[0].partition(",")[0] for row in found if row.version == version)
        line = f"| {version} | {count['yes']} | {count['no']} | {count['not applicable']} |"
        assert line in page, f"the page should say: {line}"
