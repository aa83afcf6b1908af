-- Queues into which nothing is retried for a while.
CREATE TABLE queue_pauses (
    broker TEXT NOT NULL,
    queue TEXT NOT NULL,
    until_consumers BIGINT NOT NULL, -- 1: it ends by itself as soon as the queue has a consumer
    note TEXT NOT NULL,
    set_by TEXT NOT NULL,
    set_at BIGINT NOT NULL,
    releasing BIGINT NOT NULL, -- 1: it is over, and what it held goes back into the line; then the row goes
    PRIMARY KEY (broker, queue)
) WITHOUT ROWID;

-- A retry that was due while its queue was paused stands aside, so that those of other queues are found as quickly as ever.
ALTER TABLE retries ADD COLUMN held BIGINT NOT NULL DEFAULT 0;
CREATE INDEX retries_to_claim ON retries (broker, due_at) WHERE held = 0;
CREATE INDEX retries_held ON retries (broker, queue, due_at) WHERE held = 1;
