-- A hash over the message_id, where that may tell the message from others.
ALTER TABLE letters ADD COLUMN id_key BIGINT;
ALTER TABLE sent_back ADD COLUMN id_key BIGINT;
-- When it was sent back for the first time; null where that was before this was kept.
ALTER TABLE sent_back ADD COLUMN first_sent_at BIGINT;
-- It has failed as another message, which is not retried by itself any more.
ALTER TABLE sent_back ADD COLUMN stopped BOOLEAN NOT NULL DEFAULT FALSE;

CREATE INDEX sent_back_by_id ON sent_back (id_key, letter_id) WHERE id_key IS NOT NULL;
