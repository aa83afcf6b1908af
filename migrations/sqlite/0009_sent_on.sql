-- What is in it waits in RabbitMQ and is not here. Each of its entries is 48 bytes: a fingerprint and an id, how often the
-- message had failed, and when it is due.
ALTER TABLE pending_acks ADD COLUMN sent_on BOOLEAN NOT NULL DEFAULT FALSE;
