-- The servers that share a store, and until when they are taken to live.

CREATE TABLE servers (
  server     text   PRIMARY KEY,
  url        text   NOT NULL,
  host       text   NOT NULL,
  pid        bigint NOT NULL,
  started_at bigint NOT NULL,
  expires_at bigint NOT NULL
);
