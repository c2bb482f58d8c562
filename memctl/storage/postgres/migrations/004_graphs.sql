-- Of a user with so many vectors that comparing all takes too long: the bits of the sketches in an index (HNSW) of that
-- user's alone; 0 where there is none. See graphs.py.
ALTER TABLE indexes ADD graph integer NOT NULL DEFAULT 0;
