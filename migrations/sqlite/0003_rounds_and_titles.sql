-- How often dlo has seen it fail; `attempts` has the tries of its framework as well.
ALTER TABLE letters ADD COLUMN rounds BIGINT NOT NULL DEFAULT 1;
-- What the message is, where it is a call: task and arguments.
ALTER TABLE letters ADD COLUMN title TEXT;
