-- The spine: sessions and their logs, keys, state, leases, tasks.
-- Times are epoch milliseconds. A session's children are keyed by session_no alone: the tenant is checked once,
-- on the way in. `pos` never repeats (AUTOINCREMENT), so a feed's cursor cannot skip.

CREATE TABLE schema_meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
  session_no INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant     TEXT    NOT NULL,
  session_id TEXT    NOT NULL,
  agent      TEXT    NOT NULL,
  user_id    TEXT,
  status     TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  head_seq   INTEGER NOT NULL,
  head_hash  BLOB    NOT NULL,
  document   BLOB    NOT NULL,
  UNIQUE (tenant, session_id)
) STRICT;
CREATE INDEX sessions_by_age ON sessions (tenant, session_no);

CREATE TABLE transcript_events (
  pos        INTEGER PRIMARY KEY AUTOINCREMENT,
  session_no INTEGER NOT NULL,
  seq        INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  event_id   TEXT    NOT NULL,
  hash       BLOB    NOT NULL,
  payload    BLOB    NOT NULL,
  UNIQUE (session_no, seq)
) STRICT;

-- Clustered by the event's id, which rises with time: whoever writes, the newest identities share a page.
CREATE TABLE transcript_event_identities (
  session_no      INTEGER NOT NULL,
  seq             INTEGER NOT NULL,
  event_id        TEXT    NOT NULL,
  type            TEXT    NOT NULL,
  parent_id       TEXT,
  idempotency_key TEXT,
  PRIMARY KEY (event_id, session_no)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX identities_by_key ON transcript_event_identities (session_no, idempotency_key)
  WHERE idempotency_key IS NOT NULL;

CREATE TABLE session_entries (
  tenant     TEXT    NOT NULL,
  key        TEXT    NOT NULL,
  session_no INTEGER NOT NULL REFERENCES sessions,
  document   BLOB    NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE session_routes (
  tenant     TEXT    NOT NULL,
  key        TEXT    NOT NULL,
  session_no INTEGER NOT NULL REFERENCES sessions,
  started_at INTEGER NOT NULL,
  ended_at   INTEGER,
  PRIMARY KEY (tenant, key, session_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_routes_by_session ON session_routes (session_no);

CREATE TABLE session_state (
  session_no INTEGER PRIMARY KEY REFERENCES sessions,
  version    INTEGER NOT NULL,
  document   BLOB    NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE leases (
  session_no INTEGER PRIMARY KEY REFERENCES sessions,
  fence      INTEGER NOT NULL,
  holder     TEXT    NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;

CREATE TABLE holders (
  holder     TEXT    PRIMARY KEY,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tasks (
  tenant     TEXT    NOT NULL,
  task_id    TEXT    NOT NULL,
  session_no INTEGER NOT NULL REFERENCES sessions,
  context_id TEXT    NOT NULL,
  state      TEXT    NOT NULL,
  owner      TEXT    NOT NULL,
  document   BLOB    NOT NULL,
  version    INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, task_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX tasks_by_session ON tasks (session_no);
CREATE INDEX tasks_running ON tasks (state) WHERE state IN ('submitted', 'working');

CREATE VIEW session_events AS
  SELECT s.tenant, s.session_id, e.seq, i.event_id, i.type, i.parent_id, i.idempotency_key, e.created_at, e.hash, e.payload
  FROM transcript_events e
  JOIN sessions s ON s.session_no = e.session_no
  JOIN transcript_event_identities i ON i.event_id = e.event_id AND i.session_no = e.session_no;
