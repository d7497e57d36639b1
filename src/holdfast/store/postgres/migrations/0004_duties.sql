-- What is done for the whole store now and then, by one process at a time: who is at it, and when it was last done.

CREATE TABLE duties (
  name       TEXT COLLATE "C" PRIMARY KEY,
  holder     TEXT COLLATE "C" NOT NULL,
  expires_at BIGINT NOT NULL,
  done_at    BIGINT
);
