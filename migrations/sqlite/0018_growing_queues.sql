-- By so many messages a second more come than are dealt with; null: it does not grow, or that was not told.
ALTER TABLE watched_queues ADD COLUMN grows_by BIGINT;
