-- The whole store: what a session holds beside its log, what outlives it, and how it comes and goes.
-- `life` is live, arriving (being forked or imported, seen by nobody), leaving (deleted, its events on their way to
-- the archive) or gone. Events up to `copied_seq` were copied from elsewhere and are not news to a feed.
-- The rows of goals, sub_agents, checkpoints, snapshots, tool_effects, usage and attachment_uses follow from events.

ALTER TABLE sessions ADD COLUMN life TEXT COLLATE "C" NOT NULL DEFAULT 'live';
ALTER TABLE sessions ADD COLUMN size_bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN copied_seq BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN held BIGINT NOT NULL DEFAULT 0;
UPDATE sessions SET size_bytes = (
  SELECT coalesce(sum(length(e.payload)), 0) FROM transcript_events e WHERE e.session_no = sessions.session_no);

DROP INDEX sessions_by_age;
CREATE INDEX sessions_by_age ON sessions (tenant, session_no) WHERE life = 'live';
CREATE INDEX sessions_by_user ON sessions (tenant, user_id, session_no) WHERE life = 'live';
CREATE INDEX sessions_by_status ON sessions (tenant, status, session_no) WHERE life = 'live';
CREATE INDEX sessions_in_motion ON sessions (life, session_no) WHERE life IN ('arriving', 'leaving');
CREATE INDEX session_entries_by_session ON session_entries (session_no);

-- The SHA-256 of a payload that was erased: the chain stays whole without its bytes.
ALTER TABLE transcript_events ADD COLUMN erased BYTEA;

CREATE TABLE session_tags (
  tenant     TEXT COLLATE "C" NOT NULL,
  tag        TEXT COLLATE "C" NOT NULL,
  session_no BIGINT NOT NULL REFERENCES sessions,
  PRIMARY KEY (tenant, tag, session_no)
);
CREATE INDEX session_tags_by_session ON session_tags (session_no);

CREATE TABLE goals (
  session_no BIGINT NOT NULL REFERENCES sessions,
  goal_id    TEXT COLLATE "C" NOT NULL,
  number     BIGINT NOT NULL,
  status     TEXT COLLATE "C" NOT NULL,
  document   BYTEA NOT NULL,
  PRIMARY KEY (session_no, goal_id)
);

CREATE TABLE sub_agents (
  session_no BIGINT NOT NULL REFERENCES sessions,
  agent_id   TEXT COLLATE "C" NOT NULL,
  number     BIGINT NOT NULL,
  status     TEXT COLLATE "C" NOT NULL,
  document   BYTEA NOT NULL,
  PRIMARY KEY (session_no, agent_id)
);

CREATE TABLE checkpoints (
  session_no    BIGINT NOT NULL REFERENCES sessions,
  checkpoint_id TEXT COLLATE "C" NOT NULL,
  number        BIGINT NOT NULL,
  status        TEXT COLLATE "C" NOT NULL,
  document      BYTEA NOT NULL,
  PRIMARY KEY (session_no, checkpoint_id)
);

-- An effect of a tool: started, then finished; one that is only started after a crash is unresolved.
CREATE TABLE tool_effects (
  session_no BIGINT NOT NULL REFERENCES sessions,
  call_id    TEXT COLLATE "C" NOT NULL,
  number     BIGINT NOT NULL,
  status     TEXT COLLATE "C" NOT NULL,
  document   BYTEA NOT NULL,
  PRIMARY KEY (session_no, call_id)
);

-- Whoever adds one asks for the last number, whoever resumes for those that are still open.
CREATE INDEX goals_by_number ON goals (session_no, number);
CREATE INDEX goals_by_status ON goals (session_no, status, number);
CREATE INDEX sub_agents_by_number ON sub_agents (session_no, number);
CREATE INDEX sub_agents_by_status ON sub_agents (session_no, status, number);
CREATE INDEX tool_effects_by_number ON tool_effects (session_no, number);
CREATE INDEX tool_effects_by_status ON tool_effects (session_no, status, number);

-- Where the snapshots are: the event at `seq` stands for the events up to `last_seq`.
CREATE TABLE snapshots (
  session_no BIGINT NOT NULL REFERENCES sessions,
  seq        BIGINT NOT NULL,
  first_seq  BIGINT NOT NULL,
  last_seq   BIGINT NOT NULL,
  PRIMARY KEY (session_no, seq)
);
CREATE INDEX snapshots_by_start ON snapshots (session_no, first_seq, seq);

-- Tokens by day (days since 1970) and model.
CREATE TABLE usage (
  session_no    BIGINT NOT NULL REFERENCES sessions,
  day           BIGINT NOT NULL,
  model         TEXT COLLATE "C" NOT NULL,
  calls         BIGINT NOT NULL,
  input_tokens  BIGINT NOT NULL,
  output_tokens BIGINT NOT NULL,
  cached_tokens BIGINT NOT NULL,
  cost_micros   BIGINT NOT NULL,
  PRIMARY KEY (session_no, day, model)
);
CREATE INDEX usage_by_day ON usage (day);

-- Bytes kept once per tenant by their SHA-256, in parts of at most 1 MB.
CREATE TABLE attachments (
  attachment_no BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant        TEXT COLLATE "C" NOT NULL,
  digest        TEXT COLLATE "C" NOT NULL,
  size_bytes    BIGINT NOT NULL,
  complete      BIGINT NOT NULL,
  touched_at    BIGINT NOT NULL,
  UNIQUE (tenant, digest)
);
CREATE INDEX attachments_by_touch ON attachments (touched_at);
CREATE TABLE attachment_parts (
  attachment_no BIGINT NOT NULL REFERENCES attachments,
  part          BIGINT NOT NULL,
  bytes         BYTEA NOT NULL,
  PRIMARY KEY (attachment_no, part)
);
CREATE TABLE attachment_uses (
  session_no BIGINT NOT NULL REFERENCES sessions,
  tenant     TEXT COLLATE "C" NOT NULL,
  digest     TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (session_no, digest)
);
CREATE INDEX attachment_uses_by_digest ON attachment_uses (tenant, digest);

-- Memories outlive sessions: the current version of each, and every version there was. A version without a digest
-- forgets; one with erased_at had a value. An idempotency key names the version that its write found or made.
CREATE TABLE memories (
  memory_no  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant     TEXT COLLATE "C" NOT NULL,
  namespace  TEXT COLLATE "C" NOT NULL,
  key        TEXT COLLATE "C" NOT NULL,
  version    BIGINT NOT NULL,
  live       BIGINT NOT NULL,
  UNIQUE (tenant, namespace, key)
);
CREATE TABLE memory_versions (
  memory_no  BIGINT NOT NULL REFERENCES memories,
  version    BIGINT NOT NULL,
  write_id   TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  source     TEXT COLLATE "C",
  digest     BYTEA NOT NULL,
  value      BYTEA,
  erased_at  BIGINT,
  PRIMARY KEY (memory_no, version)
);
CREATE TABLE memory_keys (
  memory_no       BIGINT NOT NULL REFERENCES memories,
  idempotency_key TEXT COLLATE "C" NOT NULL,
  version         BIGINT NOT NULL,
  PRIMARY KEY (memory_no, idempotency_key)
);

-- A deleted session (kept, purging or purged): what its log was. Its events move here in steps, each in exactly one place; the event that
-- says that it was deleted stays in the log.
CREATE TABLE archives (
  session_no BIGINT PRIMARY KEY REFERENCES sessions,
  tenant     TEXT COLLATE "C" NOT NULL,
  session_id TEXT COLLATE "C" NOT NULL,
  deleted_at BIGINT NOT NULL,
  purged_at  BIGINT,
  state      TEXT COLLATE "C" NOT NULL DEFAULT 'kept',
  reason     TEXT COLLATE "C" NOT NULL,
  last_seq   BIGINT NOT NULL,
  last_hash  BYTEA NOT NULL,
  size_bytes BIGINT NOT NULL,
  document   BYTEA NOT NULL
);
CREATE INDEX archives_by_age ON archives (tenant, deleted_at);
CREATE INDEX archives_in_motion ON archives (session_no) WHERE state = 'purging';
CREATE TABLE archived_events (
  session_no      BIGINT NOT NULL REFERENCES archives,
  seq             BIGINT NOT NULL,
  created_at      BIGINT NOT NULL,
  event_id        TEXT COLLATE "C" NOT NULL,
  type            TEXT COLLATE "C" NOT NULL,
  parent_id       TEXT COLLATE "C",
  idempotency_key TEXT COLLATE "C",
  hash            BYTEA NOT NULL,
  erased          BYTEA,
  payload         BYTEA NOT NULL,
  PRIMARY KEY (session_no, seq)
);
CREATE INDEX archived_events_by_id ON archived_events (event_id);

-- Sessions that are arriving, and who brings them: one whose holder is dead is undone.
CREATE TABLE arrivals (
  session_no BIGINT PRIMARY KEY REFERENCES sessions,
  holder     TEXT COLLATE "C" NOT NULL,
  expires_at BIGINT NOT NULL
);

-- Full text, by `pos` and `memory_no`. The words are split before they come here, so both engines find the same.
CREATE TABLE event_text (
  rowid BIGINT PRIMARY KEY,
  words TSVECTOR NOT NULL
);
CREATE INDEX event_text_words ON event_text USING gin (words);
CREATE TABLE memory_text (
  rowid BIGINT PRIMARY KEY,
  words TSVECTOR NOT NULL
);
CREATE INDEX memory_text_words ON memory_text USING gin (words);
CREATE TABLE search_progress (
  name  TEXT COLLATE "C" PRIMARY KEY,
  major BIGINT NOT NULL,
  minor BIGINT NOT NULL
);
INSERT INTO search_progress (name, major, minor) VALUES ('events', 0, 0);
