-- Calls that have to happen once, by the key that their caller gave them, and what was answered.
CREATE TABLE idempotency_keys (
    actor TEXT NOT NULL,
    name TEXT NOT NULL,
    request TEXT NOT NULL, -- hash of the call
    begun_at BIGINT NOT NULL,
    claimed_until BIGINT NOT NULL, -- while there is no answer: it is under way, and given up for dead after this
    status BIGINT, -- of the answer; null: there is none yet
    headers TEXT NOT NULL, -- JSON
    body BYTEA NOT NULL,
    PRIMARY KEY (actor, name)
);
CREATE INDEX idempotency_keys_by_time ON idempotency_keys (begun_at);
