-- The governor: tasks, what happened in them, and payloads kept out of prompts.

CREATE TABLE tasks (
    seq         INTEGER PRIMARY KEY,
    project     TEXT NOT NULL,
    task        TEXT NOT NULL UNIQUE,
    agent       TEXT NOT NULL,
    session     TEXT NOT NULL,
    authn       TEXT NOT NULL,
    at          INTEGER NOT NULL,
    op          TEXT,
    prev        BLOB,
    body_commit BLOB,
    salt        BLOB,
    body        BLOB
) STRICT;

CREATE TABLE events (
    seq         INTEGER PRIMARY KEY,
    task        TEXT NOT NULL,
    event       TEXT NOT NULL,
    agent       TEXT NOT NULL,
    session     TEXT NOT NULL,
    authn       TEXT NOT NULL,
    at          INTEGER NOT NULL,
    op          TEXT,
    prev        BLOB,
    body_commit BLOB NOT NULL,
    salt        BLOB,
    body        BLOB
) STRICT;

CREATE INDEX events_by_task ON events (task, seq);

CREATE TABLE payloads (
    seq            INTEGER PRIMARY KEY,
    ref            TEXT NOT NULL UNIQUE CHECK (length(ref) = 64),
    alias          INTEGER NOT NULL UNIQUE,
    size_bytes     INTEGER NOT NULL,
    redacted_bytes INTEGER NOT NULL,
    media_type     TEXT NOT NULL,
    agent          TEXT NOT NULL,
    session        TEXT NOT NULL,
    authn          TEXT NOT NULL,
    at             INTEGER NOT NULL,
    op             TEXT,
    prev           BLOB,
    body_commit    BLOB,
    salt           BLOB,
    body           BLOB
) STRICT;

-- The bytes of payloads, in parts, apart from everything that is scanned. A part without a row in
-- payloads is the rest of a process that died: harmless, and taken up when the payload comes again.
CREATE TABLE payload_parts (
    ref   TEXT NOT NULL,
    part  INTEGER NOT NULL,
    codec TEXT NOT NULL,
    bytes BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX payload_parts_by_ref ON payload_parts (ref, part);

-- A cache: the state of a task as the fold of its events up to a seq.
CREATE TABLE task_states (
    task  TEXT PRIMARY KEY,
    seq   INTEGER NOT NULL,
    state BLOB NOT NULL
) STRICT;

CREATE TRIGGER tasks_keep_rows BEFORE DELETE ON tasks
BEGIN SELECT RAISE(ABORT, 'tasks are append-only'); END;
CREATE TRIGGER tasks_keep_values BEFORE UPDATE OF
    seq, project, task, agent, session, authn, at, op, prev, body_commit ON tasks
BEGIN SELECT RAISE(ABORT, 'tasks are append-only'); END;

CREATE TRIGGER events_keep_rows BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER events_keep_values BEFORE UPDATE OF
    seq, task, event, agent, session, authn, at, op, prev, body_commit ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER events_only_erase BEFORE UPDATE OF salt, body ON events
WHEN NEW.salt IS NOT NULL OR NEW.body IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

CREATE TRIGGER payloads_keep_rows BEFORE DELETE ON payloads
BEGIN SELECT RAISE(ABORT, 'payloads are append-only'); END;
CREATE TRIGGER payloads_keep_values BEFORE UPDATE ON payloads
BEGIN SELECT RAISE(ABORT, 'payloads are append-only'); END;
CREATE TRIGGER payload_parts_keep_values BEFORE UPDATE ON payload_parts
BEGIN SELECT RAISE(ABORT, 'payload parts are append-only'); END;
