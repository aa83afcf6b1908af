-- The ledger. Times are microseconds since the Unix epoch, UTC.

-- One row for each combination of what letters are counted and filtered by. `count` is kept, never recounted.
CREATE TABLE facets (
    id INTEGER PRIMARY KEY,
    broker TEXT NOT NULL,
    queue TEXT NOT NULL, -- empty: unknown
    reason TEXT NOT NULL,
    status TEXT NOT NULL,
    importance TEXT NOT NULL,
    count BIGINT NOT NULL,
    UNIQUE (broker, queue, reason, status, importance)
);

-- The same counts by slices of time of `letters.received_at`, in several widths: five minutes, an hour, a day.
-- `scope` is a facet's id or, below zero, all facets of one status and importance.
CREATE TABLE slices (
    scope BIGINT NOT NULL,
    width BIGINT NOT NULL,
    start BIGINT NOT NULL,
    count BIGINT NOT NULL,
    PRIMARY KEY (scope, width, start)
) WITHOUT ROWID;

CREATE TABLE letters (
    id BLOB NOT NULL PRIMARY KEY,
    facet_id BIGINT NOT NULL,
    received_at BIGINT NOT NULL,
    first_received_at BIGINT NOT NULL,
    first_failed_at BIGINT,
    last_failed_at BIGINT NOT NULL,
    exchange TEXT NOT NULL,
    routing_key TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    importance_by TEXT NOT NULL,
    size BIGINT NOT NULL,
    error_type TEXT, -- what its consumer said went wrong, in bounded length; the whole stands in `contents`
    error_message TEXT,
    message_type TEXT,
    type_source TEXT, -- who says so
    type_confidence REAL, -- from 0 to 1, where it was guessed
    named_with BIGINT, -- the edition of schemas and mappings it was named with; null: nobody has looked yet
    danger TEXT, -- why it must not be retried
    note TEXT,
    problem TEXT,
    handed_over_at BIGINT, -- when it became a person's matter; null while only automatic retries have dealt with it
    settled_at BIGINT, -- when it was sent back or discarded; null while it is neither
    edited_from BLOB, -- the letter it is an edited copy of
    replaced_by BLOB, -- the edited copy that was made of it last
    family BLOB -- the first of the letters that are edits of one another; all but one of them at most are discarded
);

CREATE INDEX letters_by_facet ON letters (facet_id, received_at, id);
CREATE INDEX letters_by_time ON letters (received_at, id);
-- Those that have perhaps healed: sent back by a policy and not seen since.
CREATE INDEX letters_healing ON letters (settled_at) WHERE handed_over_at IS NULL AND settled_at IS NOT NULL;
-- Those that people have dealt with, for the day on which they are forgotten.
CREATE INDEX letters_settled ON letters (facet_id, settled_at) WHERE handed_over_at IS NOT NULL AND settled_at IS NOT NULL;
CREATE INDEX letters_by_family ON letters (family) WHERE family IS NOT NULL;

CREATE INDEX letters_unnamed ON letters (id) WHERE named_with IS NULL;
CREATE INDEX letters_by_type ON letters (message_type, facet_id) WHERE message_type IS NOT NULL;
-- What people have said of messages, which guesses learn from.
CREATE INDEX letters_typed_by_hand ON letters (facet_id, message_type) WHERE type_source = 'manual';

-- What came in, apart from `letters` so that a change of status never rewrites a body.
CREATE TABLE contents (
    letter_id BLOB NOT NULL PRIMARY KEY,
    exchange TEXT NOT NULL,
    routing_key TEXT NOT NULL,
    properties TEXT NOT NULL,
    headers TEXT NOT NULL,
    earlier_deaths TEXT NOT NULL,
    remarks TEXT NOT NULL,
    body BLOB NOT NULL
);

CREATE TABLE history (
    seq INTEGER PRIMARY KEY,
    letter_id BLOB NOT NULL,
    at BIGINT NOT NULL,
    event TEXT NOT NULL,
    actor TEXT NOT NULL,
    detail TEXT NOT NULL
);

CREATE INDEX history_by_letter ON history (letter_id, seq);

-- One row for each letter whose status is `scheduled`.
CREATE TABLE retries (
    letter_id BLOB NOT NULL PRIMARY KEY,
    broker TEXT NOT NULL,
    due_at BIGINT NOT NULL,
    queue TEXT NOT NULL,
    actor TEXT NOT NULL,
    claimed_until BIGINT, -- being published by some process, which is given up for dead after this
    claims BIGINT NOT NULL
);

CREATE INDEX retries_by_due ON retries (broker, due_at, letter_id);

-- Batches that are committed here while the broker may not have seen their acknowledgement yet.
CREATE TABLE unsettled_batches (
    id BLOB NOT NULL PRIMARY KEY,
    broker TEXT NOT NULL,
    queue TEXT NOT NULL,
    recorded_at BIGINT NOT NULL,
    proven BOOLEAN NOT NULL, -- the broker has seen the acknowledgement, though perhaps not written it down yet
    entries BLOB NOT NULL -- fingerprint and letter id of each delivery, 32 bytes together
);

CREATE INDEX unsettled_batches_by_queue ON unsettled_batches (broker, queue);

CREATE TABLE jobs (
    id BLOB NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    state TEXT NOT NULL,
    total BIGINT NOT NULL,
    done BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    errors TEXT NOT NULL
);

-- Policies of automatic retries that people have set; they go before those of the configuration.
CREATE TABLE policies (
    queues TEXT NOT NULL, -- a name or a glob
    reason TEXT NOT NULL, -- empty: any
    delays TEXT NOT NULL,
    jitter REAL NOT NULL,
    via TEXT NOT NULL,
    keep_routing_key BOOLEAN NOT NULL,
    set_by TEXT NOT NULL,
    set_at BIGINT NOT NULL,
    PRIMARY KEY (queues, reason)
);

-- What became of automatic retries, by day (its first microsecond) and by how often the message had failed.
CREATE TABLE retry_counts (
    broker TEXT NOT NULL,
    queue TEXT NOT NULL,
    day BIGINT NOT NULL,
    failures BIGINT NOT NULL,
    failed BIGINT NOT NULL, -- that many messages failed for the `failures`th time,
    retried BIGINT NOT NULL, -- that many of them went back
    exhausted BIGINT NOT NULL, -- and that many became letters.
    PRIMARY KEY (broker, queue, day, failures)
) WITHOUT ROWID;

-- Queues in RabbitMQ that messages wait in; no broker tells which there are.
CREATE TABLE delay_queues (
    broker TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (broker, name)
);

-- Versions of schemas. Which of them are current follows from their files and from when they were uploaded.
CREATE TABLE schemas (
    id BLOB NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE, -- of `descriptors`
    source TEXT NOT NULL,
    files TEXT NOT NULL, -- a JSON list of their names
    descriptors BLOB NOT NULL, -- a FileDescriptorSet
    size BIGINT NOT NULL,
    uploaded_by TEXT NOT NULL,
    uploaded_at BIGINT NOT NULL
);

-- Which type messages are of, as far as people have said it.
CREATE TABLE mappings (
    broker TEXT NOT NULL, -- empty: any
    carrier TEXT NOT NULL, -- by queue, exchange or routing key
    pattern TEXT NOT NULL, -- a name or a glob
    message_type TEXT NOT NULL,
    set_by TEXT NOT NULL,
    set_at BIGINT NOT NULL,
    PRIMARY KEY (broker, carrier, pattern)
);
