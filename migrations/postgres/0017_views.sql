-- Lists that people have saved under a name.
CREATE TABLE views (
    id UUID NOT NULL PRIMARY KEY,
    owner TEXT NOT NULL, -- the name of a user
    name TEXT NOT NULL,
    query TEXT NOT NULL, -- what stands in the address of the list
    shared BIGINT NOT NULL, -- 1: others see it, too
    within TEXT NOT NULL, -- the queues that its owner saw, as in activity: who sees less does not see it
    set_by TEXT NOT NULL,
    set_at BIGINT NOT NULL,
    removed_at BIGINT -- it can be brought back for a while
);
CREATE INDEX views_by_owner ON views (owner, name);
CREATE INDEX views_shared ON views (name) WHERE shared = 1;
CREATE INDEX views_removed ON views (removed_at) WHERE removed_at IS NOT NULL;
