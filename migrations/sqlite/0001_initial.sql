-- The database. Times are microseconds since the Unix epoch, UTC.

-- One row for each combination of what letters are counted and filtered by. `count` is kept, never recounted.
CREATE TABLE facets (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: who walks along one must not come into another
    broker TEXT NOT NULL,
    queue TEXT NOT NULL, -- empty: unknown
    reason TEXT NOT NULL,
    status TEXT NOT NULL,
    importance TEXT NOT NULL,
    count BIGINT NOT NULL,
    UNIQUE (broker, queue, reason, status, importance)
);

CREATE INDEX facets_in_use ON facets (status, importance) WHERE count > 0;

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
    named_with BIGINT, -- the edition of schemas and mappings it was named with; null: to be enriched
    enriched_at BIGINT, -- when it was enriched last: named, given its importance and put into its group
    group_id BLOB, -- null until it is enriched
    danger TEXT, -- why it must not be retried
    note TEXT,
    problem TEXT,
    handed_over_at BIGINT, -- when it became a person's matter; null while only automatic retries have dealt with it
    closed_at BIGINT, -- when it was sent back or discarded; null while it is neither
    edited_from BLOB, -- the letter it is an edited copy of
    replaced_by BLOB, -- the edited copy that was made of it last
    family BLOB -- the first of the letters that are edits of one another; all but one of them at most are discarded
);

CREATE INDEX letters_by_facet ON letters (facet_id, received_at, id);
CREATE INDEX letters_by_time ON letters (received_at, id);
-- Those that have perhaps succeeded: sent back by a policy and not seen since.
CREATE INDEX letters_healing ON letters (closed_at) WHERE handed_over_at IS NULL AND closed_at IS NOT NULL;
-- Those that people have dealt with, for the day on which they are forgotten.
CREATE INDEX letters_settled ON letters (facet_id, closed_at) WHERE handed_over_at IS NOT NULL AND closed_at IS NOT NULL;
CREATE INDEX letters_by_family ON letters (family) WHERE family IS NOT NULL;

CREATE INDEX letters_not_enriched ON letters (id) WHERE named_with IS NULL;
-- What was sent back or discarded lately: of that nobody knows yet whether it has succeeded.
CREATE INDEX letters_by_settling ON letters (closed_at, facet_id, group_id) WHERE closed_at IS NOT NULL;
CREATE INDEX letters_by_group ON letters (group_id, facet_id, received_at, id) WHERE group_id IS NOT NULL;
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
    scheduled_at BIGINT NOT NULL, -- in the future only where a clock was ahead
    queue TEXT NOT NULL,
    actor TEXT NOT NULL,
    claimed_until BIGINT, -- being published by some process, which is given up for dead after this
    claims BIGINT NOT NULL
);

CREATE INDEX retries_by_due ON retries (broker, due_at, letter_id);

-- The latest time that a server has seen, in one row: a clock that says less was put back.
CREATE TABLE latest_time (
    id BIGINT NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL
);

-- Batches that are committed here while the broker may not have seen their acknowledgement yet.
CREATE TABLE pending_acks (
    id BLOB NOT NULL PRIMARY KEY,
    broker TEXT NOT NULL,
    queue TEXT NOT NULL,
    session BLOB NOT NULL, -- the connection it came by
    recorded_at BIGINT NOT NULL,
    confirmed BOOLEAN NOT NULL, -- the broker has seen the acknowledgement, though perhaps not written it down yet
    entries BLOB NOT NULL -- fingerprint and letter id of each delivery, 32 bytes together
);

CREATE INDEX unsettled_batches_by_queue ON pending_acks (broker, queue);

CREATE TABLE jobs (
    id BLOB NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    state TEXT NOT NULL,
    total BIGINT NOT NULL,
    done BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    errors TEXT NOT NULL,
    position BLOB, -- the letter it has come to; null: it has not begun, or it cannot be taken up again
    claimed_until BIGINT, -- some process works at it, which is given up for dead after this
    bulk TEXT -- what is to be done and with which letters, JSON; null: the action says it all
);

-- Calls that have to happen once, by the key that their caller gave them, and what was answered.
CREATE TABLE idempotency_keys (
    actor TEXT NOT NULL,
    name TEXT NOT NULL,
    request TEXT NOT NULL, -- hash of the call
    begun_at BIGINT NOT NULL,
    claimed_until BIGINT NOT NULL, -- while there is no answer: it is under way, and given up for dead after this
    status BIGINT, -- of the answer; null: there is none yet
    headers TEXT NOT NULL, -- JSON
    body BLOB NOT NULL,
    PRIMARY KEY (actor, name)
);
CREATE INDEX idempotency_keys_by_time ON idempotency_keys (begun_at);

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
    start BIGINT NOT NULL,
    failures BIGINT NOT NULL,
    failed BIGINT NOT NULL, -- that many messages failed for the `failures`th time,
    retried BIGINT NOT NULL, -- that many of them went back
    exhausted BIGINT NOT NULL, -- and that many became letters.
    PRIMARY KEY (broker, queue, start, failures)
) WITHOUT ROWID;

-- The same by five minutes, for as long as it is too early to tell whether a retry succeeded.
CREATE TABLE recent_retry_counts (
    broker TEXT NOT NULL,
    queue TEXT NOT NULL,
    start BIGINT NOT NULL,
    failures BIGINT NOT NULL,
    failed BIGINT NOT NULL, -- that many messages failed for the `failures`th time,
    retried BIGINT NOT NULL, -- that many of them went back
    exhausted BIGINT NOT NULL, -- and that many became letters.
    PRIMARY KEY (start, broker, queue, failures)
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

-- What failed alike. The counts are kept, never recounted: open letters by importance, and those of the other statuses.
CREATE TABLE groups (
    id BLOB NOT NULL PRIMARY KEY, -- follows from the five below
    broker TEXT NOT NULL,
    queue TEXT NOT NULL, -- empty: unknown
    message_type TEXT NOT NULL, -- empty: unknown
    reason TEXT NOT NULL,
    error TEXT NOT NULL, -- without what differs from letter to letter; empty: none is recorded
    critical BIGINT NOT NULL,
    high BIGINT NOT NULL,
    normal BIGINT NOT NULL,
    low BIGINT NOT NULL,
    scheduled BIGINT NOT NULL,
    retried BIGINT NOT NULL,
    discarded BIGINT NOT NULL,
    first_seen BIGINT NOT NULL,
    last_seen BIGINT NOT NULL,
    sent BIGINT NOT NULL, -- so many times one of its letters was sent back,
    failed_again BIGINT NOT NULL, -- and so many times it failed again
    last_sent_at BIGINT,
    note TEXT NOT NULL,
    note_by TEXT NOT NULL,
    note_at BIGINT
);

CREATE INDEX groups_open ON groups (last_seen) WHERE critical + high + normal + low > 0;

-- The same over time, by hours: letters received, sent back, and of those the ones that came back. The group whose id
-- is all zeros stands for all.
CREATE TABLE group_hours (
    group_id BLOB NOT NULL,
    start BIGINT NOT NULL,
    received BIGINT NOT NULL,
    sent BIGINT NOT NULL,
    failed_again BIGINT NOT NULL,
    PRIMARY KEY (group_id, start)
) WITHOUT ROWID;

-- Rules that say how important a letter is, in order.
CREATE TABLE rules (
    id BLOB NOT NULL PRIMARY KEY,
    position BIGINT NOT NULL,
    name TEXT NOT NULL UNIQUE,
    expression TEXT NOT NULL,
    importance TEXT NOT NULL,
    set_by TEXT NOT NULL,
    set_at BIGINT NOT NULL
);

-- How often a rule could not be tried on a letter, by its name: it may stand in a file.
CREATE TABLE rule_failures (
    rule TEXT NOT NULL PRIMARY KEY,
    count BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    last_letter BLOB NOT NULL,
    last_error TEXT NOT NULL
);

-- What concerns people until it is over: a group of important letters, or a queue.
CREATE TABLE incidents (
    id BLOB NOT NULL PRIMARY KEY,
    key TEXT NOT NULL, -- what it is about: one of them is open at a time
    importance TEXT NOT NULL,
    detail TEXT NOT NULL, -- as it was told last, JSON
    opened_at BIGINT NOT NULL,
    told_at BIGINT, -- last; null: quiet hours
    resolved_at BIGINT
);

CREATE UNIQUE INDEX incidents_open ON incidents (key) WHERE resolved_at IS NULL;
CREATE INDEX incidents_by_time ON incidents (opened_at);

-- What is to be told outside, and what was.
CREATE TABLE notifications (
    seq INTEGER PRIMARY KEY, -- clocks jump; of one subject the order is what counts
    id BLOB NOT NULL UNIQUE,
    channel TEXT NOT NULL,
    subject TEXT NOT NULL, -- an incident's key, or the digest's name: told one after the other
    kind TEXT NOT NULL,
    body TEXT NOT NULL, -- JSON, as it is sent
    created_at BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    claimed_until BIGINT,
    attempts BIGINT NOT NULL,
    state TEXT NOT NULL,
    ended_at BIGINT,
    problem TEXT NOT NULL -- why it was refused, or the last attempt failed
);

CREATE INDEX notifications_waiting ON notifications (due_at) WHERE state = 'waiting';
CREATE INDEX notifications_ended ON notifications (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX notifications_by_subject ON notifications (subject, seq);

-- Digests: one row for each slot of a schedule, and for each that somebody asked for.
CREATE TABLE digests (
    id BLOB NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    slot BIGINT, -- when it was due; null: somebody asked for it
    made_at BIGINT NOT NULL,
    made_by TEXT NOT NULL,
    since BIGINT, -- it tells what happened from then on; null: it was the first
    notification_id BLOB, -- null: there was nothing to tell
    report TEXT NOT NULL, -- its figures, JSON
    snapshot TEXT NOT NULL, -- how each group stood, JSON, which the next one is compared with; empty: none will be
    UNIQUE (name, slot)
);

CREATE INDEX digests_by_time ON digests (name, made_at);

-- Since when a digest has had its schedule: what was due before is not made up for.
CREATE TABLE digest_schedules (
    name TEXT NOT NULL PRIMARY KEY,
    schedule TEXT NOT NULL,
    begun_at BIGINT NOT NULL
);

-- Brokers that are watched by their management API, by one process at a time.
CREATE TABLE watched_brokers (
    broker TEXT NOT NULL PRIMARY KEY,
    watcher BLOB NOT NULL, -- the process that watches it, which is given up for dead
    claimed_until BIGINT NOT NULL, -- after this
    polled_at BIGINT, -- when it was asked last,
    looked_at BIGINT, -- and when it last answered
    problem TEXT NOT NULL, -- why it did not answer, or does not tell everything; empty: all is well
    state TEXT NOT NULL -- what is remembered of our own queues there, JSON; empty: nothing yet
);

-- Their queues: how they stood when the broker last answered (null: that was not told), and what is remembered of their
-- consumers.
CREATE TABLE watched_queues (
    broker TEXT NOT NULL,
    queue TEXT NOT NULL,
    kind TEXT NOT NULL,
    state TEXT,
    messages BIGINT,
    ready BIGINT,
    unacknowledged BIGINT,
    consumers BIGINT,
    policy TEXT,
    max_length BIGINT,
    had BIGINT, -- so many consumers it had; null: none were ever seen, and there is nothing to remember
    seen BIGINT, -- so many were there when it was looked at last
    had_consumers_at BIGINT,
    without_since BIGINT,
    without_for BIGINT NOT NULL, -- microseconds
    with_for BIGINT NOT NULL, -- microseconds
    interrupted BIGINT NOT NULL,
    told BIGINT NOT NULL,
    absences BIGINT NOT NULL,
    PRIMARY KEY (broker, queue)
) WITHOUT ROWID;

CREATE INDEX watched_queues_told ON watched_queues (broker, queue) WHERE told > 0;

-- Who did what.
CREATE TABLE activity (
    seq INTEGER PRIMARY KEY,
    at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    area TEXT NOT NULL, -- letters, groups, rules, policies, schemas, mappings, digests
    action TEXT NOT NULL,
    subject TEXT NOT NULL, -- a letter's or group's id, or a name
    letters BIGINT NOT NULL, -- how many were touched
    detail TEXT NOT NULL
);

CREATE INDEX activity_by_area ON activity (area, seq);
CREATE INDEX activity_by_actor ON activity (actor, seq);
CREATE INDEX activity_by_subject ON activity (subject, seq);
