"""Full text in SQLite: FTS5 tables of words that are split already, so its tokenizer has nothing left to decide."""

from collections.abc import Sequence

from holdfast.store.engine import TextSql
from holdfast.store.text.tokenizer import Query, Term


def document(words: Sequence[str], scopes: Sequence[str]) -> str:
    """The words as FTS5 takes them."""
    return " ".join((*words, *scopes))


def query(asked: Query, scope: str) -> str:
    """The query in FTS5's language; words have no character that means anything there."""
    terms = " AND ".join((_quoted(scope), *map(_term, asked.terms)))
    return " NOT ".join((f"({terms})", *map(_term, asked.excluded)))


def _term(term: Term) -> str:
    return _quoted(" ".join(term.words)) + (" *" if term.prefix else "")


def _quoted(text: str) -> str:
    return f'"{text}"'


TEXT = TextSql(
    place="1 AS epoch, 0 AS major, e.pos AS pos",
    after="?1 = 1 AND ?2 = 0 AND e.pos > ?3",
    between="?1 = 1 AND ?2 = 0 AND e.pos > ?3 AND ?4 = 1 AND ?5 = 0 AND e.pos <= ?6",
    order="e.pos",
    safe="SELECT 1, 0, coalesce(max(pos), 0) FROM transcript_events",
    newest="SELECT 1, 0, coalesce(max(pos), 0) FROM transcript_events",
    matches="t.words MATCH ?1",
    document=document,
    query=query,
    merge="INSERT INTO {table} ({table}, rank) VALUES ('merge', ?1)",
)
