-- How watched queues stood in each quarter of an hour: the most messages and the fewest consumers; null: not told.
CREATE TABLE queue_samples (
    broker TEXT NOT NULL,
    -- When the quarter of an hour began.
    at BIGINT NOT NULL,
    queue TEXT NOT NULL,
    messages BIGINT,
    consumers BIGINT,
    PRIMARY KEY (broker, at, queue)
);
