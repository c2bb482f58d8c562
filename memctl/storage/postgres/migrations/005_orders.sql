-- In the order in which a profile is read, so that its first rows are the first of the index.
DROP INDEX entries_profile;
CREATE INDEX entries_profile ON entries
    (user_id, (kind = 'preference' OR category = 'preference') DESC, happened DESC NULLS LAST, ref DESC)
    WHERE kind NOT IN ('episode', 'knowledge', 'strategy', 'message') AND status = 'active' AND record;
-- Superseded memories and candidates are looked for beside each question, and are few.
CREATE INDEX entries_inactive ON entries (user_id, n) WHERE status <> 'active';
