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
VALUES (x'019a8b7c000070008000000000000001', 1, 1795262400000000, 1795262400000000, 1795262400000000, '', 'orders', 1, 'default', 5, 1795262400000000);
INSERT INTO contents (letter_id, exchange, routing_key, properties, headers, earlier_deaths, remarks, body)
VALUES (x'019a8b7c000070008000000000000001', '', 'orders', '{}', '{}', '[]', '[]', x'68656c6c6f');
INSERT INTO history (letter_id, at, event, actor, detail) VALUES (x'019a8b7c000070008000000000000001', 1795262400000000, 'note_set', 'Ann', 'ask Bob');
