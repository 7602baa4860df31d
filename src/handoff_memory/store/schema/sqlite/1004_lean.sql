-- What each write paid for: an index that nothing searched by, and one that moved with every sign of
-- life of a session.

DROP INDEX IF EXISTS records_by_scope;
DROP INDEX IF EXISTS sessions_by_agent;
CREATE INDEX sessions_open ON sessions (agent) WHERE ended_at IS NULL;
