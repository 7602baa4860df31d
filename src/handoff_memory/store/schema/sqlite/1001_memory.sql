-- The shared memory: append-only rows, their journal, and the opinions and caches beside them.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (name, value) VALUES ('database_id', lower(hex(randomblob(16))));

CREATE TABLE journal (
    seq        INTEGER PRIMARY KEY CHECK (seq >= 1),
    kind       TEXT NOT NULL,
    v          INTEGER NOT NULL,
    entry_hash BLOB NOT NULL CHECK (length(entry_hash) = 32),
    chain      BLOB NOT NULL CHECK (length(chain) = 32)
) STRICT;

-- Rows that are hashed. Their id is their seq in the journal; bulky columns stand last.

CREATE TABLE records (
    seq         INTEGER PRIMARY KEY,
    project     TEXT NOT NULL,
    scope       TEXT NOT NULL,
    key         TEXT NOT NULL,
    version     INTEGER NOT NULL CHECK (version >= 1),
    confidence  INTEGER NOT NULL CHECK (confidence BETWEEN 0 AND 1000000),
    tags        TEXT NOT NULL,
    source      TEXT,
    expires_at  INTEGER,
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

CREATE UNIQUE INDEX records_by_name ON records (project, scope, key, version);
CREATE INDEX records_by_scope ON records (scope, seq);

CREATE TABLE outcomes (
    seq         INTEGER PRIMARY KEY,
    record      INTEGER NOT NULL,
    outcome     TEXT NOT NULL,
    before      INTEGER NOT NULL CHECK (before BETWEEN 0 AND 1000000),
    after       INTEGER NOT NULL CHECK (after BETWEEN 0 AND 1000000),
    packet      TEXT,
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

CREATE INDEX outcomes_by_record ON outcomes (record, seq);

CREATE TABLE packets (
    seq         INTEGER PRIMARY KEY,
    project     TEXT NOT NULL,
    packet      TEXT NOT NULL UNIQUE,
    recipient   TEXT,
    status      TEXT,
    priority    INTEGER NOT NULL,
    expires_at  INTEGER,
    in_reply_to TEXT,
    thread      TEXT NOT NULL,
    pins        TEXT NOT NULL,
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

CREATE INDEX packets_by_thread ON packets (thread, seq);

CREATE TABLE claims (
    seq         INTEGER PRIMARY KEY,
    packet      TEXT NOT NULL,
    action      TEXT NOT NULL,
    lease_us    INTEGER,
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

CREATE INDEX claims_by_packet ON claims (packet, seq);

-- Opinions and caches: recomputed from the rows above by every verification.

CREATE TABLE heads (
    project TEXT NOT NULL,
    scope   TEXT NOT NULL,
    key     TEXT NOT NULL,
    seq     INTEGER NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (project, scope, key)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX heads_by_seq ON heads (seq);

CREATE TABLE opinions (
    seq              INTEGER PRIMARY KEY,
    confidence       INTEGER NOT NULL,
    success          INTEGER NOT NULL,
    partial          INTEGER NOT NULL,
    failure          INTEGER NOT NULL,
    critical_failure INTEGER NOT NULL
) STRICT;

CREATE TABLE packet_states (
    seq            INTEGER PRIMARY KEY,
    packet         TEXT NOT NULL UNIQUE,
    project        TEXT NOT NULL,
    recipient      TEXT,
    priority       INTEGER NOT NULL,
    expires_at     INTEGER,
    state          TEXT NOT NULL,
    holder         TEXT,
    holder_session TEXT,
    token          INTEGER,
    renewed_at     INTEGER,
    lease_us       INTEGER,
    deliveries     INTEGER NOT NULL
) STRICT;

CREATE INDEX packet_states_open ON packet_states (project, priority DESC, seq)
    WHERE state IN ('waiting', 'claimed');
CREATE INDEX packet_states_held ON packet_states (holder_session) WHERE state = 'claimed';

-- Text of current and of superseded versions: contentless, so a text stands in the file once.

CREATE VIRTUAL TABLE current_text USING fts5 (
    name, tags, source, text, content='', tokenize='porter unicode61'
);
CREATE VIRTUAL TABLE past_text USING fts5 (
    name, tags, source, text, content='', tokenize='porter unicode61'
);

-- Not hashed: what happened to requests, and who is alive.

CREATE TABLE requests (
    agent      TEXT NOT NULL,
    request_id TEXT NOT NULL,
    digest     BLOB NOT NULL,
    seq        INTEGER NOT NULL,
    reply      TEXT NOT NULL,
    PRIMARY KEY (agent, request_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    session    TEXT PRIMARY KEY,
    agent      TEXT NOT NULL,
    pid        INTEGER,
    host       TEXT,
    started_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    ended_at   INTEGER,
    seq        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_agent ON sessions (agent, seen_at);

-- Hashed rows are append-only, but for the erasure of a body together with its salt.

CREATE TRIGGER journal_keeps_rows BEFORE DELETE ON journal
BEGIN SELECT RAISE(ABORT, 'journal is append-only'); END;
CREATE TRIGGER journal_keeps_values BEFORE UPDATE ON journal
BEGIN SELECT RAISE(ABORT, 'journal is append-only'); END;

CREATE TRIGGER records_keep_rows BEFORE DELETE ON records
BEGIN SELECT RAISE(ABORT, 'records are append-only'); END;
CREATE TRIGGER records_keep_values BEFORE UPDATE OF
    seq, project, scope, key, version, confidence, tags, source, expires_at,
    agent, session, authn, at, op, prev, body_commit ON records
BEGIN SELECT RAISE(ABORT, 'records are append-only'); END;
CREATE TRIGGER records_only_erase BEFORE UPDATE OF salt, body ON records
WHEN NEW.salt IS NOT NULL OR NEW.body IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'records are append-only'); END;

CREATE TRIGGER outcomes_keep_rows BEFORE DELETE ON outcomes
BEGIN SELECT RAISE(ABORT, 'outcomes are append-only'); END;
CREATE TRIGGER outcomes_keep_values BEFORE UPDATE OF
    seq, record, outcome, before, after, packet,
    agent, session, authn, at, op, prev, body_commit ON outcomes
BEGIN SELECT RAISE(ABORT, 'outcomes are append-only'); END;
CREATE TRIGGER outcomes_only_erase BEFORE UPDATE OF salt, body ON outcomes
WHEN NEW.salt IS NOT NULL OR NEW.body IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'outcomes are append-only'); END;

CREATE TRIGGER packets_keep_rows BEFORE DELETE ON packets
BEGIN SELECT RAISE(ABORT, 'packets are append-only'); END;
CREATE TRIGGER packets_keep_values BEFORE UPDATE OF
    seq, project, packet, recipient, status, priority, expires_at, in_reply_to, thread, pins,
    agent, session, authn, at, op, prev, body_commit ON packets
BEGIN SELECT RAISE(ABORT, 'packets are append-only'); END;
CREATE TRIGGER packets_only_erase BEFORE UPDATE OF salt, body ON packets
WHEN NEW.salt IS NOT NULL OR NEW.body IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'packets are append-only'); END;

CREATE TRIGGER claims_keep_rows BEFORE DELETE ON claims
BEGIN SELECT RAISE(ABORT, 'claims are append-only'); END;
CREATE TRIGGER claims_keep_values BEFORE UPDATE OF
    seq, packet, action, lease_us,
    agent, session, authn, at, op, prev, body_commit ON claims
BEGIN SELECT RAISE(ABORT, 'claims are append-only'); END;
CREATE TRIGGER claims_only_erase BEFORE UPDATE OF salt, body ON claims
WHEN NEW.salt IS NOT NULL OR NEW.body IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'claims are append-only'); END;
