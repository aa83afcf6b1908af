-- What happened at a moment that may explain failures: deploys, flags, incidents.
CREATE TABLE markers (
    id BLOB NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    service TEXT NOT NULL, -- empty: of no service
    queues TEXT NOT NULL, -- patterns as a JSON array; empty: every queue
    link TEXT NOT NULL,
    within TEXT NOT NULL, -- the queues of who has set it, as in activity
    set_by TEXT NOT NULL,
    set_at BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX markers_by_time ON markers (at, id);
