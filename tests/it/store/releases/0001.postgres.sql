INSERT INTO facets (broker, queue, reason, status, importance, count)
VALUES ('main', 'orders', 'rejected', 'open', 'normal', 1);
INSERT INTO slices (scope, width, start, count) VALUES
    (1, 300000000, 1795262400000000, 1),
    (1, 3600000000, 1795262400000000, 1),
    (1, 86400000000, 1795219200000000, 1),
    (-3, 300000000, 1795262400000000, 1),
    (-3, 3600000000, 1795262400000000, 1),
    (-3, 86400000000, 1795219200000000, 1);
INSERT INTO letters (id, facet_id, received_at, first_received_at, last_failed_at, exchange, routing_key, attempts,
    importance_by, size, handed_over_at)
VALUES ('019a8b7c-0000-7000-8000-000000000001', 1, 1795262400000000, 1795262400000000, 1795262400000000, '', 'orders', 1, 'default', 5, 1795262400000000);
INSERT INTO contents (letter_id, exchange, routing_key, properties, headers, earlier_deaths, remarks, body)
VALUES ('019a8b7c-0000-7000-8000-000000000001', '', 'orders', '{}', '{}', '[]', '[]', '\x68656c6c6f');
INSERT INTO history (letter_id, at, event, actor, detail) VALUES ('019a8b7c-0000-7000-8000-000000000001', 1795262400000000, 'note_set', 'Ann', 'ask Bob');
