-- Sessions that are undeleted, whose `life` is returning, and who brings them back: one whose holder is dead is on its way
-- out again. They are no arrivals, because an arrival that is undone leaves nothing.
CREATE TABLE returns (
  session_no BIGINT PRIMARY KEY REFERENCES sessions,
  holder     TEXT COLLATE "C" NOT NULL,
  expires_at BIGINT NOT NULL
);
