-- Who may ask a gateway for what, and what was done with that. Of a token only its hash is kept.

CREATE TABLE tokens (
  token_id   TEXT COLLATE "C" PRIMARY KEY,
  hash       BYTEA NOT NULL,
  name       TEXT NOT NULL,
  tenant     TEXT COLLATE "C" NOT NULL,
  scopes     TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT
);

-- An action without a status was begun, and its gateway ended before it did.
CREATE TABLE audit (
  entry_id   TEXT COLLATE "C" PRIMARY KEY,
  tenant     TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  caller     TEXT NOT NULL,
  token_id   TEXT,
  scope      TEXT NOT NULL,
  action     TEXT NOT NULL,
  target     TEXT NOT NULL,
  details    TEXT,
  status     BIGINT
);
CREATE INDEX audit_by_tenant ON audit (tenant, entry_id);
