-- What is done for the whole store now and then, by one process at a time: who is at it, and when it was last done.

CREATE TABLE duties (
  name       TEXT    PRIMARY KEY,
  holder     TEXT    NOT NULL,
  expires_at INTEGER NOT NULL,
  done_at    INTEGER
) STRICT, WITHOUT ROWID;
