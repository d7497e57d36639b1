-- What a running turn has said so far: replaced about once a second, gone when its task rests. It is no event: no log,
-- feed or archive has it.

CREATE TABLE task_texts (
  tenant      TEXT    NOT NULL,
  task_id     TEXT    NOT NULL,
  session_no  INTEGER NOT NULL REFERENCES sessions,
  artifact_id TEXT    NOT NULL,
  text        BLOB    NOT NULL,
  PRIMARY KEY (tenant, task_id)
) STRICT;
CREATE INDEX task_texts_by_session ON task_texts (session_no);

-- Which context was made for a message that named none, for as long as it may be delivered again.
CREATE TABLE first_messages (
  tenant     TEXT    NOT NULL,
  digest     TEXT    NOT NULL,
  context_id TEXT    NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX first_messages_by_end ON first_messages (expires_at);
