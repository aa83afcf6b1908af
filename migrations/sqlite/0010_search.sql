-- Letters that are to be indexed, for the first time or again.
CREATE TABLE search_backlog (
    letter_id BLOB NOT NULL PRIMARY KEY,
    asked BIGINT NOT NULL -- how often it was asked for
) WITHOUT ROWID;
-- In one row: stands for what is indexed, and how; 0: nothing is.
CREATE TABLE search_settings (
    id BIGINT NOT NULL PRIMARY KEY,
    made_with BIGINT NOT NULL
);
-- Words, in the words of this database.
-- What searches are answered from. Each letter has a row here as soon as its words are in `search_words`.
CREATE TABLE search_index (
    seq INTEGER PRIMARY KEY, -- its row in `search_words`
    letter_id BLOB NOT NULL UNIQUE
);
-- Words of letters by where they stand, and what stands for values of their fields. It has an index and no texts, and
-- what is deleted is only marked as that (https://www.sqlite.org/fts5.html#contentless_delete_tables). Words are cut before
-- they come here: none has a character that separates others.
CREATE VIRTUAL TABLE search_words USING fts5(
    error, stack, headers, payload, terms,
    content = '', contentless_delete = 1, tokenize = "ascii tokenchars '='"
);
