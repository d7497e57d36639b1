-- The servers that share a store, and until when they are taken to live.

CREATE TABLE servers (
  server     TEXT COLLATE "C" PRIMARY KEY,
  url        TEXT   NOT NULL,
  host       TEXT   NOT NULL,
  pid        BIGINT NOT NULL,
  started_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
