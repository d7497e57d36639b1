-- Which places have yet to be told of a task's newest change. Written with the change, and gone once it was posted or
-- given up. What is told is in the task: this has neither words nor credentials.

CREATE TABLE outbox (
  tenant     TEXT    NOT NULL,
  task_id    TEXT    NOT NULL,
  config_id  TEXT    NOT NULL,
  session_no INTEGER NOT NULL REFERENCES sessions,
  version    INTEGER NOT NULL,
  poster     TEXT    NOT NULL,
  tries      INTEGER NOT NULL,
  PRIMARY KEY (tenant, task_id, config_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX outbox_by_session ON outbox (session_no);
