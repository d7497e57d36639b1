-- The whole store: what a session holds beside its log, what outlives it, and how it comes and goes.
-- `life` is live, arriving (being forked or imported, seen by nobody), leaving (deleted, its events on their way to
-- the archive) or gone. Events up to `copied_seq` were copied from elsewhere and are not news to a feed.
-- The rows of goals, sub_agents, checkpoints, snapshots, tool_effects, usage and attachment_uses follow from events.

ALTER TABLE sessions ADD COLUMN life TEXT NOT NULL DEFAULT 'live';
ALTER TABLE sessions ADD COLUMN size_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN copied_seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET size_bytes = (
  SELECT coalesce(sum(length(e.payload)), 0) FROM transcript_events e WHERE e.session_no = sessions.session_no);

DROP INDEX sessions_by_age;
CREATE INDEX sessions_by_age ON sessions (tenant, session_no) WHERE life = 'live';
CREATE INDEX sessions_by_user ON sessions (tenant, user_id, session_no) WHERE life = 'live';
CREATE INDEX sessions_by_status ON sessions (tenant, status, session_no) WHERE life = 'live';
CREATE INDEX sessions_in_motion ON sessions (life, session_no) WHERE life IN ('arriving', 'leaving');
CREATE INDEX session_entries_by_session ON session_entries (session_no);

-- The SHA-256 of a payload that was erased: the chain stays whole without its bytes.
ALTER TABLE transcript_events ADD COLUMN erased BLOB;

CREATE TABLE session_tags (
  tenant     TEXT    NOT NULL,
  tag        TEXT    NOT NULL,
  session_no INTEGER NOT NULL REFERENCES sessions,
  PRIMARY KEY (tenant, tag, session_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_tags_by_session ON session_tags (session_no);

CREATE TABLE goals (
  session_no INTEGER NOT NULL REFERENCES sessions,
  goal_id    TEXT    NOT NULL,
  number     INTEGER NOT NULL,
  status     TEXT    NOT NULL,
  document   BLOB    NOT NULL,
  PRIMARY KEY (session_no, goal_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE sub_agents (
  session_no INTEGER NOT NULL REFERENCES sessions,
  agent_id   TEXT    NOT NULL,
  number     INTEGER NOT NULL,
  status     TEXT    NOT NULL,
  document   BLOB    NOT NULL,
  PRIMARY KEY (session_no, agent_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE checkpoints (
  session_no    INTEGER NOT NULL REFERENCES sessions,
  checkpoint_id TEXT    NOT NULL,
  number        INTEGER NOT NULL,
  status        TEXT    NOT NULL,
  document      BLOB    NOT NULL,
  PRIMARY KEY (session_no, checkpoint_id)
) STRICT, WITHOUT ROWID;

-- An effect of a tool: started, then finished; one that is only started after a crash is unresolved.
CREATE TABLE tool_effects (
  session_no INTEGER NOT NULL REFERENCES sessions,
  call_id    TEXT    NOT NULL,
  number     INTEGER NOT NULL,
  status     TEXT    NOT NULL,
  document   BLOB    NOT NULL,
  PRIMARY KEY (session_no, call_id)
) STRICT, WITHOUT ROWID;

-- Whoever adds one asks for the last number, whoever resumes for those that are still open.
CREATE INDEX goals_by_number ON goals (session_no, number);
CREATE INDEX goals_by_status ON goals (session_no, status, number);
CREATE INDEX sub_agents_by_number ON sub_agents (session_no, number);
CREATE INDEX sub_agents_by_status ON sub_agents (session_no, status, number);
CREATE INDEX tool_effects_by_number ON tool_effects (session_no, number);
CREATE INDEX tool_effects_by_status ON tool_effects (session_no, status, number);

-- Where the snapshots are: the event at `seq` stands for the events up to `last_seq`.
CREATE TABLE snapshots (
  session_no INTEGER NOT NULL REFERENCES sessions,
  seq        INTEGER NOT NULL,
  first_seq  INTEGER NOT NULL,
  last_seq   INTEGER NOT NULL,
  PRIMARY KEY (session_no, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX snapshots_by_start ON snapshots (session_no, first_seq, seq);

-- Tokens by day (days since 1970) and model.
CREATE TABLE usage (
  session_no    INTEGER NOT NULL REFERENCES sessions,
  day           INTEGER NOT NULL,
  model         TEXT    NOT NULL,
  calls         INTEGER NOT NULL,
  input_tokens  INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  cost_micros   INTEGER NOT NULL,
  PRIMARY KEY (session_no, day, model)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_by_day ON usage (day);

-- Bytes kept once per tenant by their SHA-256, in parts of at most 1 MB.
CREATE TABLE attachments (
  attachment_no INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant        TEXT    NOT NULL,
  digest        TEXT    NOT NULL,
  size_bytes    INTEGER NOT NULL,
  complete      INTEGER NOT NULL,
  touched_at    INTEGER NOT NULL,
  UNIQUE (tenant, digest)
) STRICT;
CREATE INDEX attachments_by_touch ON attachments (touched_at);
CREATE TABLE attachment_parts (
  attachment_no INTEGER NOT NULL REFERENCES attachments,
  part          INTEGER NOT NULL,
  bytes         BLOB    NOT NULL,
  PRIMARY KEY (attachment_no, part)
) STRICT;
CREATE TABLE attachment_uses (
  session_no INTEGER NOT NULL REFERENCES sessions,
  tenant     TEXT    NOT NULL,
  digest     TEXT    NOT NULL,
  PRIMARY KEY (session_no, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX attachment_uses_by_digest ON attachment_uses (tenant, digest);

-- Memories outlive sessions: the current version of each, and every version there was. A version without a digest
-- forgets; one with erased_at had a value. An idempotency key names the version that its write found or made.
CREATE TABLE memories (
  memory_no  INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant     TEXT    NOT NULL,
  namespace  TEXT    NOT NULL,
  key        TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  live       INTEGER NOT NULL,
  UNIQUE (tenant, namespace, key)
) STRICT;
CREATE TABLE memory_versions (
  memory_no  INTEGER NOT NULL REFERENCES memories,
  version    INTEGER NOT NULL,
  write_id   TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  source     TEXT,
  digest     BLOB    NOT NULL,
  value      BLOB,
  erased_at  INTEGER,
  PRIMARY KEY (memory_no, version)
) STRICT;
CREATE TABLE memory_keys (
  memory_no       INTEGER NOT NULL REFERENCES memories,
  idempotency_key TEXT    NOT NULL,
  version         INTEGER NOT NULL,
  PRIMARY KEY (memory_no, idempotency_key)
) STRICT, WITHOUT ROWID;

-- A deleted session (kept, purging or purged): what its log was. Its events move here in steps, each in exactly one place; the event that
-- says that it was deleted stays in the log.
CREATE TABLE archives (
  session_no INTEGER PRIMARY KEY REFERENCES sessions,
  tenant     TEXT    NOT NULL,
  session_id TEXT    NOT NULL,
  deleted_at INTEGER NOT NULL,
  purged_at  INTEGER,
  state      TEXT    NOT NULL DEFAULT 'kept',
  reason     TEXT    NOT NULL,
  last_seq   INTEGER NOT NULL,
  last_hash  BLOB    NOT NULL,
  size_bytes INTEGER NOT NULL,
  document   BLOB    NOT NULL
) STRICT;
CREATE INDEX archives_by_age ON archives (tenant, deleted_at);
CREATE INDEX archives_in_motion ON archives (session_no) WHERE state = 'purging';
CREATE TABLE archived_events (
  session_no      INTEGER NOT NULL REFERENCES archives,
  seq             INTEGER NOT NULL,
  created_at      INTEGER NOT NULL,
  event_id        TEXT    NOT NULL,
  type            TEXT    NOT NULL,
  parent_id       TEXT,
  idempotency_key TEXT,
  hash            BLOB    NOT NULL,
  erased          BLOB,
  payload         BLOB    NOT NULL,
  PRIMARY KEY (session_no, seq)
) STRICT;
CREATE INDEX archived_events_by_id ON archived_events (event_id);

-- Sessions that are arriving, and who brings them: one whose holder is dead is undone.
CREATE TABLE arrivals (
  session_no INTEGER PRIMARY KEY REFERENCES sessions,
  holder     TEXT    NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;

-- Full text, by `pos` and `memory_no`. The words are split before they come here, so both engines find the same; the
-- tokenizer `ascii` takes them as they are. `usermerge` lets a merge go on until deleted words are gone. Without
-- `deletemerge` five hundred deletions do not merge for 200 ms in the commit of whoever deletes: scrubbing is a chore.
CREATE VIRTUAL TABLE event_text USING fts5(words, content='', contentless_delete=1, tokenize='ascii');
INSERT INTO event_text (event_text, rank) VALUES ('usermerge', 2);
INSERT INTO event_text (event_text, rank) VALUES ('deletemerge', 0);
CREATE VIRTUAL TABLE memory_text USING fts5(words, content='', contentless_delete=1, tokenize='ascii');
INSERT INTO memory_text (memory_text, rank) VALUES ('usermerge', 2);
CREATE TABLE search_progress (
  name  TEXT PRIMARY KEY,
  major INTEGER NOT NULL,
  minor INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO search_progress (name, major, minor) VALUES ('events', 0, 0);
