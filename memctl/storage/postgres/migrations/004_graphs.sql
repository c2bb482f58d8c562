-- Of a user with so many vectors that comparing all takes too long: the bits of the sketches in an index (HNSW) of that
-- user's alone; 0 where there is none. See graphs.py.
ALTER TABLE indexes ADD graph integer NOT NULL DEFAULT 0;

-- Reading is one condition on the user that an index serves, not two joined by OR: `memctl.reads` says whose rows, where
-- that is somebody who shares them, and messages remain with `memctl.user`. Writing is for the user's own rows alone.
DO $$
DECLARE
    name text;
    mine text := $q$user_id = current_setting('memctl.user', true)$q$;
    read text := $q$user_id = coalesce(nullif(current_setting('memctl.reads', true), ''),
        current_setting('memctl.user', true))$q$;
    beside text;
BEGIN
    FOREACH name IN ARRAY ARRAY['memories', 'indexes', 'tags', 'links', 'entries', 'postings', 'vectors', 'sketches',
        'texts'] LOOP
        beside := CASE WHEN name IN ('entries', 'postings', 'vectors', 'sketches') THEN format('(part <> 2 OR %s)', mine)
            WHEN name = 'texts' THEN format($q$(name ~ '^(reflections|knowledge)/' OR %s)$q$, mine) ELSE 'true' END;
        EXECUTE format('DROP POLICY own ON %I', name);
        EXECUTE format('DROP POLICY shared ON %I', name);
        EXECUTE format('CREATE POLICY shared ON %I FOR SELECT USING (%s AND %s)', name, read, beside);
        EXECUTE format('CREATE POLICY own ON %I FOR INSERT WITH CHECK (%s)', name, mine);
        EXECUTE format('CREATE POLICY changed ON %I FOR UPDATE USING (%s) WITH CHECK (%s)', name, mine, mine);
        EXECUTE format('CREATE POLICY removed ON %I FOR DELETE USING (%s)', name, mine);
    END LOOP;
END $$;
