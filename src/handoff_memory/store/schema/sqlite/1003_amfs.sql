-- SenseLab's AMFS: versions of entries and what that SDK alone has of them, its other objects, and
-- which of its versions holds which record of the shared memory.

CREATE TABLE amfs_entries (
    seq         INTEGER PRIMARY KEY,
    project     TEXT NOT NULL,
    namespace   TEXT NOT NULL,
    branch      TEXT NOT NULL,
    path        TEXT NOT NULL,
    key         TEXT NOT NULL,
    version     INTEGER NOT NULL CHECK (version >= 1),
    record      INTEGER,
    wrote       INTEGER NOT NULL CHECK (wrote IN (0, 1)),
    writer      TEXT NOT NULL,
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

CREATE TABLE amfs_documents (
    seq         INTEGER PRIMARY KEY,
    project     TEXT NOT NULL,
    namespace   TEXT NOT NULL,
    branch      TEXT NOT NULL,
    type        TEXT NOT NULL,
    name        TEXT NOT NULL,
    stamp       INTEGER NOT NULL,
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

CREATE INDEX amfs_documents_by_name ON amfs_documents (project, namespace, type, name, seq);
CREATE INDEX amfs_documents_by_stamp ON amfs_documents (project, namespace, type, stamp, name);

-- The version map, recomputed by every verification but for recalls, which nobody hashes. A version
-- has an entry where AMFS wrote it, and a record where the shared memory holds its value.
CREATE TABLE amfs_versions (
    project   TEXT NOT NULL,
    namespace TEXT NOT NULL,
    branch    TEXT NOT NULL,
    path      TEXT NOT NULL,
    key       TEXT NOT NULL,
    version   INTEGER NOT NULL,
    entry     INTEGER,
    record    INTEGER,
    recalls   INTEGER NOT NULL,
    PRIMARY KEY (project, namespace, branch, path, key, version)
) STRICT, WITHOUT ROWID;

-- The newest record that was looked at for the version map.
CREATE TABLE amfs_adopted (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    seq INTEGER NOT NULL
) STRICT;

INSERT INTO amfs_adopted (one, seq) VALUES (1, 0);

-- Not hashed: the timeline, which tells of reads, and of writes that the journal has anyway.
CREATE TABLE amfs_events (
    project   TEXT NOT NULL,
    namespace TEXT NOT NULL,
    writer    TEXT NOT NULL,
    at        INTEGER NOT NULL,
    id        TEXT NOT NULL,
    branch    TEXT NOT NULL,
    type      TEXT NOT NULL,
    body      TEXT NOT NULL,
    PRIMARY KEY (project, namespace, writer, at, id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER amfs_entries_keep_rows BEFORE DELETE ON amfs_entries
BEGIN SELECT RAISE(ABORT, 'AMFS entries are append-only'); END;
CREATE TRIGGER amfs_entries_keep_values BEFORE UPDATE OF
    seq, project, namespace, branch, path, key, version, record, wrote, writer,
    agent, session, authn, at, op, prev, body_commit ON amfs_entries
BEGIN SELECT RAISE(ABORT, 'AMFS entries are append-only'); END;
CREATE TRIGGER amfs_entries_only_erase BEFORE UPDATE OF salt, body ON amfs_entries
WHEN NEW.salt IS NOT NULL OR NEW.body IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'AMFS entries are append-only'); END;

CREATE TRIGGER amfs_documents_keep_rows BEFORE DELETE ON amfs_documents
BEGIN SELECT RAISE(ABORT, 'AMFS documents are append-only'); END;
CREATE TRIGGER amfs_documents_keep_values BEFORE UPDATE OF
    seq, project, namespace, branch, type, name, stamp,
    agent, session, authn, at, op, prev, body_commit ON amfs_documents
BEGIN SELECT RAISE(ABORT, 'AMFS documents are append-only'); END;
CREATE TRIGGER amfs_documents_only_erase BEFORE UPDATE OF salt, body ON amfs_documents
WHEN NEW.salt IS NOT NULL OR NEW.body IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'AMFS documents are append-only'); END;
