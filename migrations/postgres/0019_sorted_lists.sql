-- Letters are also listed by how often they failed, and by their size.
CREATE INDEX letters_by_attempts ON letters (facet_id, attempts, received_at, id);
CREATE INDEX letters_by_size ON letters (facet_id, size, received_at, id);
-- Of a group these are read along one index and sorted.
DROP INDEX letters_by_group;
CREATE INDEX letters_by_group ON letters (group_id, facet_id, received_at, id, attempts, size) WHERE group_id IS NOT NULL;
-- What lists show of a payload, JSON: a few of the values that can be found.
ALTER TABLE search_index ADD COLUMN telling TEXT;
