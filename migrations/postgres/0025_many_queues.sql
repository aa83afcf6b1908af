-- Letters received by days and the hours of these, in the place of slices of an hour and of a day: where there are many
-- queues with few letters each, a chart of weeks reads a row for each day of a queue and not one for each letter.
-- `scope` is that of `slices`, which are of five minutes from here on.
CREATE TABLE days (
    scope BIGINT NOT NULL,
    start BIGINT NOT NULL,
    count BIGINT NOT NULL,
    h00 BIGINT NOT NULL DEFAULT 0, h01 BIGINT NOT NULL DEFAULT 0, h02 BIGINT NOT NULL DEFAULT 0,
    h03 BIGINT NOT NULL DEFAULT 0, h04 BIGINT NOT NULL DEFAULT 0, h05 BIGINT NOT NULL DEFAULT 0,
    h06 BIGINT NOT NULL DEFAULT 0, h07 BIGINT NOT NULL DEFAULT 0, h08 BIGINT NOT NULL DEFAULT 0,
    h09 BIGINT NOT NULL DEFAULT 0, h10 BIGINT NOT NULL DEFAULT 0, h11 BIGINT NOT NULL DEFAULT 0,
    h12 BIGINT NOT NULL DEFAULT 0, h13 BIGINT NOT NULL DEFAULT 0, h14 BIGINT NOT NULL DEFAULT 0,
    h15 BIGINT NOT NULL DEFAULT 0, h16 BIGINT NOT NULL DEFAULT 0, h17 BIGINT NOT NULL DEFAULT 0,
    h18 BIGINT NOT NULL DEFAULT 0, h19 BIGINT NOT NULL DEFAULT 0, h20 BIGINT NOT NULL DEFAULT 0,
    h21 BIGINT NOT NULL DEFAULT 0, h22 BIGINT NOT NULL DEFAULT 0, h23 BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, start)
);

INSERT INTO days (scope, start, count,
    h00, h01, h02, h03, h04, h05, h06, h07, h08, h09, h10, h11, h12, h13, h14, h15, h16, h17, h18, h19, h20, h21, h22,
    h23)
SELECT scope, start / 86400000000 * 86400000000, CAST(sum(count) AS BIGINT),
    CAST(sum(CASE WHEN start / 3600000000 % 24 = 0 THEN count ELSE 0 END) AS BIGINT),
    CAST(sum(CASE WHEN start / 3600000000 % 24 = 1 THEN count ELSE 0 END) AS BIGINT),
    CAST(sum(CASE WHEN start / 3600000000 % 24 = 2 THEN count ELSE 0 END) AS BIGINT),
    CAST(sum(CASE WHEN start / 3600000000 % 24 = 3 THEN count ELSE 0 END) AS BIGINT),
    CAST(sum(CASE WHEN start / 3600000000 % 24 = 4 THEN count ELSE 0 END) AS BIGINT),
    CAST(sum(CASE WHEN start / 3600000000 % 24 = 5 THEN count ELSE 0 END) AS BIGINT),
    CAST(sum(CASE WHEN start / 3600000000 % 24 = 6 THEN count ELSE 0 END) AS BIGINT),
    CAST(sum(CASE WHEN start / 3600000000 % 24 = 7 THEN count ELSE 0 END) AS BIGINT),
    CAST(sum(CASE WHEN start / 3600000000 % 24 = 8 THEN count ELSE 0 END) AS BIGINT),
    CAST(sum(CASE WHEN start / 3600000000 % 24 = 9 THEN count ELSE 0 END) AS BIGINT),
    CAST(sum(CASE WHEN start / 3600000000 % 24 = 10 THEN count ELSE 0 END) AS BIGINT),
    CAST(sum(CASE WHEN start / 3600000000 % 24 = 11 THEN count ELSE 0 END) AS BIGINT),
    CAST(sum(CASE WHEN start / 3600000000 % 24 = 12 THEN count ELSE 0 END) AS BIGINT),
    CAST(sum(CASE WHEN start / 3600000000 % 24 = 13 THEN count ELSE 0 END) AS BIGINT),
    CAST(sum(CASE WHEN start / 3600000000 % 24 = 14 THEN count ELSE 0 END) AS BIGINT),
    CAST(sum(CASE WHEN start / 3600000000 % 24 = 15 THEN count ELSE 0 END) AS BIGINT),
    CAST(sum(CASE WHEN start / 3600000000 % 24 = 16 THEN count ELSE 0 END) AS BIGINT),
    CAST(sum(CASE WHEN start / 3600000000 % 24 = 17 THEN count ELSE 0 END) AS BIGINT),
    CAST(sum(CASE WHEN start / 3600000000 % 24 = 18 THEN count ELSE 0 END) AS BIGINT),
    CAST(sum(CASE WHEN start / 3600000000 % 24 = 19 THEN count ELSE 0 END) AS BIGINT),
    CAST(sum(CASE WHEN start / 3600000000 % 24 = 20 THEN count ELSE 0 END) AS BIGINT),
    CAST(sum(CASE WHEN start / 3600000000 % 24 = 21 THEN count ELSE 0 END) AS BIGINT),
    CAST(sum(CASE WHEN start / 3600000000 % 24 = 22 THEN count ELSE 0 END) AS BIGINT),
    CAST(sum(CASE WHEN start / 3600000000 % 24 = 23 THEN count ELSE 0 END) AS BIGINT)
FROM slices WHERE width = 3600000000 GROUP BY 1, 2;

CREATE TABLE narrow_slices (
    scope BIGINT NOT NULL,
    start BIGINT NOT NULL,
    count BIGINT NOT NULL,
    PRIMARY KEY (scope, start)
);

INSERT INTO narrow_slices (scope, start, count) SELECT scope, start, count FROM slices WHERE width = 300000000;
DROP TABLE slices;
ALTER TABLE narrow_slices RENAME TO slices;

-- A team's groups are counted by their queues, and none of them is read.
CREATE INDEX groups_of_queue ON groups (
    broker, queue,
    (CASE WHEN critical > 0 THEN 1 ELSE 0 END + CASE WHEN high > 0 THEN 2 ELSE 0 END
    + CASE WHEN normal > 0 THEN 4 ELSE 0 END + CASE WHEN low > 0 THEN 8 ELSE 0 END), state
) WHERE merged_into IS NULL;

-- In most hours nothing was sent back.
CREATE INDEX group_hours_sent ON group_hours (start, group_id, sent, failed_again) WHERE sent > 0 OR failed_again > 0;
