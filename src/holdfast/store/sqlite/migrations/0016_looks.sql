-- What people look at beside a log: lists by agent and hold, the messages and attachments of a session without its
-- other events, the tasks that wait for an answer, and the sessions that name another as their parent.

CREATE INDEX sessions_by_agent ON sessions (tenant, agent, session_no) WHERE life = 'live';
CREATE INDEX sessions_held ON sessions (tenant, session_no) WHERE life = 'live' AND held = 1;
CREATE INDEX identities_of_messages ON transcript_event_identities (session_no, seq) WHERE type = 'message';
CREATE INDEX identities_of_attachments ON transcript_event_identities (session_no, seq)
  WHERE type = 'holdfast.attachment_added';
CREATE INDEX tasks_waiting ON tasks (tenant, updated_at, task_id) WHERE state = 'input-required';
CREATE INDEX tasks_waiting_by_session ON tasks (session_no) WHERE state = 'input-required';

-- The parent that a session's document names, where it can be found.
ALTER TABLE sessions ADD COLUMN parent_session TEXT;
UPDATE sessions SET parent_session = json_extract(CAST(document AS TEXT), '$.parentSession')
  WHERE instr(document, CAST('"parentSession"' AS BLOB)) > 0;
CREATE INDEX sessions_by_parent ON sessions (tenant, parent_session, session_no) WHERE parent_session IS NOT NULL;
