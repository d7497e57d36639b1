-- What the dashboard shows of a whole store: events by day, the tools whose effect is open, and runs of proofs.

-- How many events of a tenant were dated on a day (days since 1970), counted once each by a chore; it outlives deletions.
CREATE TABLE event_days (
  tenant TEXT    NOT NULL,
  day    INTEGER NOT NULL,
  events INTEGER NOT NULL,
  PRIMARY KEY (tenant, day)
) STRICT, WITHOUT ROWID;
INSERT INTO search_progress (name, epoch, major, minor) VALUES ('event_days', 1, 0, 0);

CREATE INDEX tool_effects_open ON tool_effects (session_no) WHERE status = 'started';

-- The summaries of runs that were posted, by the SHA-256 of their bytes; `listed` is what a list shows of one.
CREATE TABLE proofs (
  proof_no   INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant     TEXT    NOT NULL,
  proof_id   TEXT    NOT NULL,
  kind       TEXT    NOT NULL,
  posted_at  INTEGER NOT NULL,
  listed     BLOB    NOT NULL,
  document   BLOB    NOT NULL,
  UNIQUE (tenant, proof_id)
) STRICT;
CREATE INDEX proofs_by_age ON proofs (tenant, proof_no);
