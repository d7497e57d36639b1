-- The spine: sessions and their logs, keys, state, leases, tasks.
-- Times are epoch milliseconds. A session's children are keyed by session_no alone: the tenant is checked once,
-- on the way in. A feed's cursor is (xid, pos), read only below the oldest transaction still at work: identities
-- alone are handed out before their transactions commit, and a reader of `pos > cursor` would skip some.

CREATE TABLE schema_meta (
  key   TEXT COLLATE "C" PRIMARY KEY,
  value TEXT COLLATE "C" NOT NULL
);

CREATE TABLE sessions (
  session_no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant     TEXT COLLATE "C" NOT NULL,
  session_id TEXT COLLATE "C" NOT NULL,
  agent      TEXT COLLATE "C" NOT NULL,
  user_id    TEXT COLLATE "C",
  status     TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  head_seq   BIGINT NOT NULL,
  head_hash  BYTEA NOT NULL,
  document   BYTEA NOT NULL,
  UNIQUE (tenant, session_id)
);
CREATE INDEX sessions_by_age ON sessions (tenant, session_no);

CREATE TABLE transcript_events (
  pos        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session_no BIGINT NOT NULL,
  seq        BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  event_id   TEXT COLLATE "C" NOT NULL,
  hash       BYTEA NOT NULL,
  payload    BYTEA NOT NULL,
  xid        XID8 NOT NULL DEFAULT pg_current_xact_id(),
  UNIQUE (session_no, seq)
);
CREATE INDEX transcript_events_feed ON transcript_events (xid, pos);

-- Clustered by the event's id, which rises with time: whoever writes, the newest identities share a page.
CREATE TABLE transcript_event_identities (
  session_no      BIGINT NOT NULL,
  seq             BIGINT NOT NULL,
  event_id        TEXT COLLATE "C" NOT NULL,
  type            TEXT COLLATE "C" NOT NULL,
  parent_id       TEXT COLLATE "C",
  idempotency_key TEXT COLLATE "C",
  PRIMARY KEY (event_id, session_no)
);
CREATE UNIQUE INDEX identities_by_key ON transcript_event_identities (session_no, idempotency_key)
  WHERE idempotency_key IS NOT NULL;

CREATE TABLE session_entries (
  tenant     TEXT COLLATE "C" NOT NULL,
  key        TEXT COLLATE "C" NOT NULL,
  session_no BIGINT NOT NULL REFERENCES sessions,
  document   BYTEA NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (tenant, key)
);

CREATE TABLE session_routes (
  tenant     TEXT COLLATE "C" NOT NULL,
  key        TEXT COLLATE "C" NOT NULL,
  session_no BIGINT NOT NULL REFERENCES sessions,
  started_at BIGINT NOT NULL,
  ended_at   BIGINT,
  PRIMARY KEY (tenant, key, session_no)
);
CREATE INDEX session_routes_by_session ON session_routes (session_no);

CREATE TABLE session_state (
  session_no BIGINT PRIMARY KEY REFERENCES sessions,
  version    BIGINT NOT NULL,
  document   BYTEA NOT NULL,
  updated_at BIGINT NOT NULL
);

CREATE TABLE leases (
  session_no BIGINT PRIMARY KEY REFERENCES sessions,
  fence      BIGINT NOT NULL,
  holder     TEXT COLLATE "C" NOT NULL,
  expires_at BIGINT NOT NULL
);

CREATE TABLE holders (
  holder     TEXT COLLATE "C" PRIMARY KEY,
  expires_at BIGINT NOT NULL
);

CREATE TABLE tasks (
  tenant     TEXT COLLATE "C" NOT NULL,
  task_id    TEXT COLLATE "C" NOT NULL,
  session_no BIGINT NOT NULL REFERENCES sessions,
  context_id TEXT COLLATE "C" NOT NULL,
  state      TEXT COLLATE "C" NOT NULL,
  owner      TEXT COLLATE "C" NOT NULL,
  document   BYTEA NOT NULL,
  version    BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (tenant, task_id)
);
CREATE INDEX tasks_by_session ON tasks (session_no);
CREATE INDEX tasks_running ON tasks (state) WHERE state IN ('submitted', 'working');

CREATE VIEW session_events AS
  SELECT s.tenant, s.session_id, e.seq, i.event_id, i.type, i.parent_id, i.idempotency_key, e.created_at, e.hash, e.payload
  FROM transcript_events e
  JOIN sessions s ON s.session_no = e.session_no
  JOIN transcript_event_identities i ON i.event_id = e.event_id AND i.session_no = e.session_no;
