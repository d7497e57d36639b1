"""Scripts of SQL come apart where their statements end, and nowhere else."""

from pathlib import Path

import apsw
import psycopg
import pytest

from holdfast.store.sql_script import statements

BOTH = ("sqlite", "postgres")


@pytest.mark.parametrize("engine", BOTH)
@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("", []),
        (" ;; \n;", []),
        ("SELECT 1; SELECT 2", ["SELECT 1", "SELECT 2"]),
        ("SELECT 1 ;\n\nSELECT 2;\n", ["SELECT 1", "SELECT 2"]),
        ("SELECT ';'; SELECT 'it''s; fine'", ["SELECT ';'", "SELECT 'it''s; fine'"]),
        ("SELECT '-- no comment;'; SELECT '/*'", ["SELECT '-- no comment;'", "SELECT '/*'"]),
        ("SELECT 'a\n;\nb'; SELECT 2", ["SELECT 'a\n;\nb'", "SELECT 2"]),
        ("SELECT 'back\\'; SELECT 2", ["SELECT 'back\\'", "SELECT 2"]),
        ("SELECT 1 LIKE'\\'; SELECT 2", ["SELECT 1 LIKE'\\'", "SELECT 2"]),
        ('SELECT 1 AS "a;""b"; SELECT 2', ['SELECT 1 AS "a;""b"', "SELECT 2"]),
        ("SELECT 1 -- it's; gone\n, 2; SELECT 3 -- last", ["SELECT 1 \n, 2", "SELECT 3"]),
        ("SELECT/* ; ' \" */1; SELECT 2", ["SELECT 1", "SELECT 2"]),
        (
            "BEGIN; SELECT CASE WHEN 1 THEN 2 END; END; SELECT 1",
            ["BEGIN", "SELECT CASE WHEN 1 THEN 2 END", "END", "SELECT 1"],
        ),
    ],
)
def test_semicolons_that_end_a_statement(engine: str, script: str, expected: list[str]) -> None:
    assert statements(script, engine) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("SELECT 1 AS [a;'b]; SELECT 2", ["SELECT 1 AS [a;'b]", "SELECT 2"]),
        ('SELECT 1 AS `a;``"b`; SELECT 2', ['SELECT 1 AS `a;``"b`', "SELECT 2"]),
        ("SELECT $a; SELECT $b", ["SELECT $a", "SELECT $b"]),
    ],
)
def test_names_as_sqlite_quotes_them(script: str, expected: list[str]) -> None:
    assert statements(script, "sqlite") == expected


TRIGGER = """CREATE TEMP TRIGGER IF NOT EXISTS t AFTER INSERT ON a WHEN CASE WHEN new.n THEN 1 END BEGIN
  UPDATE a SET n = CASE new.n WHEN 1 THEN 'END;' ELSE 2 END;
  DELETE FROM a WHERE n = 9;
END"""


def test_the_body_of_a_trigger_is_part_of_it(tmp_path: Path) -> None:
    found = statements(f"CREATE TABLE a (n);\n{TRIGGER};\nINSERT INTO a VALUES (1);", "sqlite")
    assert found == ["CREATE TABLE a (n)", TRIGGER, "INSERT INTO a VALUES (1)"]
    connection = apsw.Connection(str(tmp_path / "a.db"))
    for statement in found:
        connection.execute(statement)
    assert connection.execute("SELECT n FROM a").fetchall() == [("END;",)]
    connection.close()


FUNCTION = """CREATE FUNCTION f() RETURNS TEXT LANGUAGE plpgsql AS $body$
DECLARE x TEXT := 'it''s; $$;';
BEGIN
  -- a comment; in a body
  x := x || $q$ 'open; $q$;
  RETURN x;
END;
$body$"""
ATOMIC = """CREATE FUNCTION g() RETURNS BIGINT BEGIN ATOMIC
  SELECT 1;
  SELECT CASE WHEN true THEN 2 END;
END"""


def test_the_bodies_of_postgresql_functions_are_part_of_them(postgres_url: str) -> None:
    rest = ["SELECT f()", "SELECT g()", "SELECT E'it\\'s; fine' || $$;'$$ || (ARRAY['];'])[1]"]
    script = ";\n".join([f"/* outer /* inner; */ still; */{FUNCTION}", ATOMIC, *rest])
    found = statements(script, "postgres")
    assert found == [FUNCTION, ATOMIC, *rest]
    with psycopg.connect(postgres_url) as connection:
        answers = [connection.execute(statement.encode()) for statement in found]
        assert [answer.fetchone() for answer in answers[2:]] == [("it's; $$; 'open; ",), (2,), ("it's; fine;'];",)]


@pytest.mark.parametrize("engine", BOTH)
@pytest.mark.parametrize("script", ["SELECT 'a; SELECT 2;", 'SELECT "a;', "SELECT /* ; ", "SELECT 1;\nSELECT E'\\';"])
def test_what_never_ends_is_refused(engine: str, script: str) -> None:
    with pytest.raises(ValueError, match=f"line {1 + script.count(chr(10))} .* never ends"):
        statements(script, engine)


@pytest.mark.parametrize(
    ("engine", "script"),
    [
        ("sqlite", "SELECT [a;"),
        ("sqlite", "SELECT `a;"),
        ("postgres", "SELECT $a$ ; $b$;"),
        ("postgres", "SELECT $$ ;"),
    ],
)
def test_what_never_ends_on_one_engine_is_refused(engine: str, script: str) -> None:
    with pytest.raises(ValueError, match="never ends"):
        statements(script, engine)


def test_a_trigger_that_never_ends_is_refused() -> None:
    with pytest.raises(ValueError, match="never ends"):
        statements("CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1;", "sqlite")
