-- The state as some patches left it, so that a retry of any patch is told its first result without reading the log;
-- and the patches of a session without its other events.

CREATE TABLE state_points (
  session_no INTEGER NOT NULL REFERENCES sessions,
  seq        INTEGER NOT NULL,
  version    INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  document   BLOB    NOT NULL,
  UNIQUE (session_no, seq)
) STRICT;
-- What the patches since the last point cost; NULL where nobody counted: the next patch keeps a point.
ALTER TABLE session_state ADD COLUMN since_point INTEGER;
CREATE INDEX identities_of_state ON transcript_event_identities (session_no, seq)
  WHERE type = 'holdfast.state_updated';
