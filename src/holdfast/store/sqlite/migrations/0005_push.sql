-- Where the news of a task are posted. They hold what another service gave us to be let in, so they are no events: they
-- are in no log, feed or archive, and go when their session is deleted.

CREATE TABLE push_configs (
  tenant      TEXT    NOT NULL,
  task_id     TEXT    NOT NULL,
  config_id   TEXT    NOT NULL,
  session_no  INTEGER NOT NULL REFERENCES sessions,
  url         TEXT    NOT NULL,
  token       TEXT,
  scheme      TEXT,
  credentials TEXT,
  version     TEXT    NOT NULL,
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (tenant, task_id, config_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX push_configs_by_session ON push_configs (session_no);
