-- Epochs: transaction ids place events in one cluster's history only. After a promotion, a restore to an earlier moment
-- or pg_dump into another database they begin again somewhere else, so whoever first finds that begins an epoch. An
-- event's place is (epoch, xid, pos): those of earlier epochs come first, and nothing can slip in among them.
-- `history` names an epoch in cursors; the first one's name is empty.

CREATE TABLE epochs (
  epoch      BIGINT PRIMARY KEY,
  history    TEXT COLLATE "C" NOT NULL,
  system     TEXT COLLATE "C" NOT NULL,
  timeline   BIGINT NOT NULL,
  database   BIGINT NOT NULL,
  relation   BIGINT NOT NULL,
  created_at BIGINT NOT NULL
);

-- The newest epoch for those who read, and the same number for those who write: a sequence that is set and never
-- counts, because an insert reads it in a twentieth of the time.
CREATE FUNCTION newest_epoch() RETURNS BIGINT LANGUAGE plpgsql STABLE
  AS 'BEGIN RETURN (SELECT coalesce(max(epoch), 1) FROM epochs); END';
CREATE SEQUENCE epoch_number;

ALTER TABLE transcript_events ADD COLUMN epoch BIGINT NOT NULL DEFAULT 1;
ALTER TABLE transcript_events
  ALTER COLUMN epoch SET DEFAULT coalesce(pg_sequence_last_value('epoch_number'::regclass), 1);
DROP INDEX transcript_events_feed;
CREATE INDEX transcript_events_feed ON transcript_events (epoch, xid, pos);

ALTER TABLE search_progress ADD COLUMN epoch BIGINT NOT NULL DEFAULT 1;
-- Once more from the beginning: a failover before this may have left events behind that were never indexed.
UPDATE search_progress SET major = 0, minor = 0 WHERE name = 'events';
