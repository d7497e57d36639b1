-- Who may ask a gateway for what, and what was done with that. Of a token only its hash is kept.

CREATE TABLE tokens (
  token_id   TEXT    PRIMARY KEY,
  hash       BLOB    NOT NULL,
  name       TEXT    NOT NULL,
  tenant     TEXT    NOT NULL,
  scopes     TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;

-- An action without a status was begun, and its gateway ended before it did.
CREATE TABLE audit (
  entry_id   TEXT    PRIMARY KEY,
  tenant     TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  caller     TEXT    NOT NULL,
  token_id   TEXT,
  scope      TEXT    NOT NULL,
  action     TEXT    NOT NULL,
  target     TEXT    NOT NULL,
  details    TEXT,
  status     INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX audit_by_tenant ON audit (tenant, entry_id);
