-- Lists of groups begin where their order does, and counts of groups read no group.
CREATE INDEX groups_by_importance ON groups (
    (CASE WHEN critical > 0 THEN 0 WHEN high > 0 THEN 1 WHEN normal > 0 THEN 2 WHEN low > 0 THEN 3 ELSE 4 END),
    (~ (critical + high + normal + low)), (~ last_seen), id
) WHERE critical + high + normal + low > 0;

CREATE INDEX groups_counted ON groups (
    (CASE WHEN critical > 0 THEN 1 ELSE 0 END + CASE WHEN high > 0 THEN 2 ELSE 0 END
    + CASE WHEN normal > 0 THEN 4 ELSE 0 END + CASE WHEN low > 0 THEN 8 ELSE 0 END), state
) WHERE merged_into IS NULL;
