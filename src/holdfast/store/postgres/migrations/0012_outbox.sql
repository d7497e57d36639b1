-- Which places have yet to be told of a task's newest change. Written with the change, and gone once it was posted or
-- given up. What is told is in the task: this has neither words nor credentials.

CREATE TABLE outbox (
  tenant     TEXT COLLATE "C" NOT NULL,
  task_id    TEXT COLLATE "C" NOT NULL,
  config_id  TEXT COLLATE "C" NOT NULL,
  session_no BIGINT NOT NULL REFERENCES sessions,
  version    BIGINT NOT NULL,
  poster     TEXT COLLATE "C" NOT NULL,
  tries      BIGINT NOT NULL,
  PRIMARY KEY (tenant, task_id, config_id)
);
CREATE INDEX outbox_by_session ON outbox (session_no);
