-- Where the news of a task are posted. They hold what another service gave us to be let in, so they are no events: they
-- are in no log, feed or archive, and go when their session is deleted.

CREATE TABLE push_configs (
  tenant      TEXT COLLATE "C" NOT NULL,
  task_id     TEXT COLLATE "C" NOT NULL,
  config_id   TEXT COLLATE "C" NOT NULL,
  session_no  BIGINT NOT NULL REFERENCES sessions,
  url         TEXT NOT NULL,
  token       TEXT,
  scheme      TEXT,
  credentials TEXT,
  version     TEXT NOT NULL,
  created_at  BIGINT NOT NULL,
  PRIMARY KEY (tenant, task_id, config_id)
);
CREATE INDEX push_configs_by_session ON push_configs (session_no);
