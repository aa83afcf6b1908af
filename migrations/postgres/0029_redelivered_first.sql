-- How many of its entries RabbitMQ had delivered before; they come first.
ALTER TABLE pending_acks ADD COLUMN redelivered BIGINT NOT NULL DEFAULT 0;
