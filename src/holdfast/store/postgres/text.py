"""Full text in PostgreSQL: text-search vectors and queries made by us, without a configuration or a dictionary."""

from collections.abc import Sequence

from holdfast.store.engine import TextSql
from holdfast.store.text.tokenizer import BREAK, Query, Term


def document(words: Sequence[str], scopes: Sequence[str]) -> str:
    """A tsvector literal: every word with its places."""
    places: dict[str, list[str]] = {}
    for place, word in enumerate(words, start=1):
        if word != BREAK:
            places.setdefault(word, []).append(str(place))
    return " ".join((*(f"'{word}':{','.join(at)}" for word, at in places.items()), *map(_quoted, scopes)))


def query(asked: Query, scope: str) -> str:
    """A tsquery literal; words have no character that means anything there."""
    excluded = (f"!({_term(term)})" for term in asked.excluded)
    return " & ".join((_quoted(scope), *(f"({_term(term)})" for term in asked.terms), *excluded))


def _term(term: Term) -> str:
    return " <-> ".join(map(_quoted, term.words)) + (":*" if term.prefix else "")


def _quoted(word: str) -> str:
    return f"'{word}'"


TEXT = TextSql(
    place="e.epoch AS epoch, e.xid::text::bigint AS major, e.pos AS pos",
    after="""(e.epoch, e.xid, e.pos) > (?1, ?2::text::xid8, ?3)
      AND NOT EXISTS (SELECT 1 FROM event_text t WHERE t.rowid = e.pos)""",
    between="""(e.epoch, e.xid, e.pos) > (?1, ?2::text::xid8, ?3)
      AND (e.epoch, e.xid, e.pos) <= (?4, ?5::text::xid8, ?6)""",
    order="e.epoch, e.xid, e.pos",
    safe="""SELECT epoch, xid::text::bigint, pos FROM (
        (SELECT epoch, xid, pos FROM transcript_events
          WHERE epoch = newest_epoch() AND xid < pg_snapshot_xmin(pg_current_snapshot())
          ORDER BY xid DESC, pos DESC LIMIT 1)
        UNION ALL
        (SELECT epoch, xid, pos FROM transcript_events WHERE epoch < newest_epoch()
          ORDER BY epoch DESC, xid DESC, pos DESC LIMIT 1)) safe
      ORDER BY epoch DESC LIMIT 1""",
    newest="""SELECT e.epoch, e.xid::text::bigint, e.pos FROM transcript_events e
      ORDER BY e.epoch DESC, e.xid DESC, e.pos DESC LIMIT 1""",
    matches="t.words @@ ?1::tsquery",
    document=document,
    query=query,
    merge=None,
)
