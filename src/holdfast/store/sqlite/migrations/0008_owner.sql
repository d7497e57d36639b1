-- Which server has the store: one row. Its number grows by one with every new owner, so an old one's is never used
-- again. Without a pid nobody has it. Only the server whose number it is commits.

CREATE TABLE owner (
  one       INTEGER PRIMARY KEY CHECK (one = 1),
  number    INTEGER NOT NULL,
  pid       INTEGER,
  started   INTEGER,           -- when the process began, in the kernel's own count: pids come again
  boot      TEXT,
  namespace TEXT,              -- in which the pid means something
  url       TEXT,
  path      TEXT,              -- the name of the database by which it is served, with its log beside it
  inode     INTEGER,           -- of the database: a copy has another, and no owner
  lock      INTEGER,           -- the inode of the lock file that the server holds
  beat_at   INTEGER NOT NULL
) STRICT;

INSERT INTO owner (one, number, beat_at) VALUES (1, 0, 0);

-- The servers that share a store, and until when they are taken to live.

CREATE TABLE servers (
  server     TEXT    PRIMARY KEY,
  url        TEXT    NOT NULL,
  host       TEXT    NOT NULL,
  pid        INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
