-- What the dashboard shows of a whole store: events by day, the tools whose effect is open, and runs of proofs.

-- How many events of a tenant were dated on a day (days since 1970), counted once each by a chore; it outlives deletions.
CREATE TABLE event_days (
  tenant TEXT COLLATE "C" NOT NULL,
  day    BIGINT NOT NULL,
  events BIGINT NOT NULL,
  PRIMARY KEY (tenant, day)
);
INSERT INTO search_progress (name, epoch, major, minor) VALUES ('event_days', 0, 0, 0);

CREATE INDEX tool_effects_open ON tool_effects (session_no) WHERE status = 'started';

-- The summaries of runs that were posted, by the SHA-256 of their bytes; `listed` is what a list shows of one.
CREATE TABLE proofs (
  proof_no  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant    TEXT COLLATE "C" NOT NULL,
  proof_id  TEXT COLLATE "C" NOT NULL,
  kind      TEXT COLLATE "C" NOT NULL,
  posted_at BIGINT NOT NULL,
  listed    BYTEA NOT NULL,
  document  BYTEA NOT NULL,
  UNIQUE (tenant, proof_id)
);
CREATE INDEX proofs_by_age ON proofs (tenant, proof_no);
