-- What lists are narrowed and sorted by: where a memory comes from, its session, when it was last changed.
ALTER TABLE entries ADD source text COLLATE "C", ADD session text COLLATE "C", ADD updated double precision;

-- The ids of memories and messages that a memory names: its sources, what it superseded, what it was learned from.
CREATE TABLE links (
    user_id text COLLATE "C", target text COLLATE "C", n integer, PRIMARY KEY (user_id, target, n)
);
CREATE INDEX links_entry ON links (user_id, n);

ALTER TABLE links ENABLE ROW LEVEL SECURITY;
ALTER TABLE links FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON links USING (user_id = current_setting('memctl.user', true))
    WITH CHECK (user_id = current_setting('memctl.user', true));
CREATE POLICY shared ON links FOR SELECT USING (user_id = current_setting('memctl.reads', true));
