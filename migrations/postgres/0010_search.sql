-- Letters that are to be indexed, for the first time or again.
CREATE TABLE search_backlog (
    letter_id UUID NOT NULL PRIMARY KEY,
    asked BIGINT NOT NULL -- how often it was asked for
);
-- In one row: stands for what is indexed, and how; 0: nothing is.
CREATE TABLE search_settings (
    id BIGINT NOT NULL PRIMARY KEY,
    made_with BIGINT NOT NULL
);
-- Words, in the words of this database.
-- What searches are answered from.
CREATE TABLE search_index (
    letter_id UUID NOT NULL PRIMARY KEY,
    words TSVECTOR NOT NULL -- words by where they stand (A: error, B: stack, C: headers, D: payload), and values of fields
);
CREATE INDEX search_words ON search_index USING GIN (words);
