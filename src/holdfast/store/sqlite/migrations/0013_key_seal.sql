-- A hash of all idempotency keys of a session, carried on by each append; none in sessions from before.
ALTER TABLE sessions ADD COLUMN key_seal BLOB;
