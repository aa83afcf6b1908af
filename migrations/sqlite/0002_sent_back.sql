-- A hash over what stays of the message when it is published anew; null for letters that came in before there was one.
ALTER TABLE letters ADD COLUMN content BIGINT;
-- When it came back without its id, so that another copy of it may be under way.
ALTER TABLE letters ADD COLUMN recognised_at BIGINT;

-- What was sent back to a queue lately, from letters or from RabbitMQ, to recognise it when it comes as a new message.
CREATE TABLE sent_back (
    content BIGINT NOT NULL,
    letter_id BLOB NOT NULL, -- there is no such letter where it waited in RabbitMQ
    broker TEXT NOT NULL,
    queue TEXT NOT NULL,
    sent_at BIGINT NOT NULL,
    automatic BIGINT NOT NULL, -- how often a policy has sent it
    rounds BIGINT NOT NULL, -- how often it had come here by then
    PRIMARY KEY (content, letter_id)
) WITHOUT ROWID;

CREATE INDEX sent_back_by_time ON sent_back (sent_at);
