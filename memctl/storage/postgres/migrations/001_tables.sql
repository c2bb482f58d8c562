-- Every key begins with the user, no unique index is without, and there are no triggers: so the tables can be
-- distributed by user (Citus). Text is compared byte by byte (COLLATE "C"), as memctl compares it elsewhere.

-- Of the whole store: tables that every node would hold in full.

CREATE TABLE settings (name text COLLATE "C" PRIMARY KEY, value text NOT NULL);

-- The truth. Bytes are kept as they came, so that a copy into a folder is equal to the byte.

-- A user, and the lock of the user: whoever changes memories holds this row.
-- `header`: what stands beside the records, as JSON. `version`: number of the last operation.
CREATE TABLE users (
    user_id text COLLATE "C" PRIMARY KEY, header bytea NOT NULL, version bigint NOT NULL DEFAULT 0,
    log_size bigint NOT NULL DEFAULT 0, log_trimmed boolean NOT NULL DEFAULT false
);

-- Who may read whose memories and documents; messages and history are never shared.
CREATE TABLE shares (user_id text COLLATE "C", reader text COLLATE "C", PRIMARY KEY (user_id, reader));

CREATE TABLE memories (
    user_id text COLLATE "C", memory_id text COLLATE "C", raw bytea NOT NULL, PRIMARY KEY (user_id, memory_id)
);

-- Reflections, documents, the trash, marks: by the names that changes give them.
CREATE TABLE texts (
    user_id text COLLATE "C", name text COLLATE "C", body bytea NOT NULL, PRIMARY KEY (user_id, name)
);

-- Lines of logs that only grow (feedback.jsonl); `digest` is that of the line without white space around it.
CREATE TABLE lines (
    user_id text COLLATE "C", log text COLLATE "C", number bigint, digest bytea NOT NULL, line bytea NOT NULL,
    PRIMARY KEY (user_id, log, number)
);
CREATE INDEX lines_digest ON lines (user_id, log, digest);

-- Lines of transcripts in the order of their receipt: messages, deletions (`deleted_at`, `final`), and what cannot be
-- read (no id). Of several with one id the last counts, and none where there is a deletion.
CREATE TABLE messages (
    user_id text COLLATE "C", seq bigint, log text COLLATE "C" NOT NULL, message_id text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL DEFAULT '', run text COLLATE "C" NOT NULL DEFAULT '',
    deletes boolean NOT NULL DEFAULT false, deleted_at double precision, final boolean NOT NULL DEFAULT false,
    attachments text[] COLLATE "C", line bytea NOT NULL,
    PRIMARY KEY (user_id, seq)
);
CREATE INDEX messages_id ON messages (user_id, message_id, seq);
CREATE INDEX messages_run ON messages (user_id, run, seq);
CREATE INDEX messages_deleted ON messages (user_id, deleted_at) WHERE deletes;

-- Large texts of messages, named by their digest.
CREATE TABLE attachments (
    user_id text COLLATE "C", name text COLLATE "C", body bytea NOT NULL, PRIMARY KEY (user_id, name)
);

-- `own`: whether a user of this store wrote it; nothing is learned from what came with a copied folder.
CREATE TABLE sessions (
    user_id text COLLATE "C", session_id text COLLATE "C", body bytea NOT NULL, own boolean NOT NULL DEFAULT true,
    PRIMARY KEY (user_id, session_id)
);
CREATE TABLE offloads (
    user_id text COLLATE "C", session_id text COLLATE "C", name text COLLATE "C", body bytea NOT NULL,
    PRIMARY KEY (user_id, session_id, name)
);
CREATE TABLE queue (
    user_id text COLLATE "C", session_id text COLLATE "C", queue_id text COLLATE "C", body bytea NOT NULL,
    own boolean NOT NULL DEFAULT true, PRIMARY KEY (user_id, session_id, queue_id)
);

-- What was done: undo and history. `body`: the operation as JSON; `ids`: of the memories it is about.
CREATE TABLE log (
    user_id text COLLATE "C", number bigint, op text COLLATE "C" NOT NULL, ids text[] COLLATE "C" NOT NULL,
    body bytea NOT NULL, PRIMARY KEY (user_id, number)
);

CREATE TABLE receipts (
    user_id text COLLATE "C", seq bigint GENERATED ALWAYS AS IDENTITY, receipt text COLLATE "C" NOT NULL,
    body bytea NOT NULL, PRIMARY KEY (user_id, seq)
);

-- Derived: `memctl reindex` makes all of this from the tables above.

-- The state of what is derived for a user, and its lock. `version` changes with every change of it; `size`: terms of
-- all entries together; `messages_to`: the last line of `messages` that is in it; `problems`: texts that cannot be read.
CREATE TABLE indexes (
    user_id text COLLATE "C" PRIMARY KEY, version bigint NOT NULL DEFAULT 0, rules integer NOT NULL DEFAULT 0,
    model text NOT NULL DEFAULT '', next_n integer NOT NULL DEFAULT 1,
    memories integer NOT NULL DEFAULT 0, messages integer NOT NULL DEFAULT 0, documents integer NOT NULL DEFAULT 0,
    size bigint NOT NULL DEFAULT 0, vectors integer NOT NULL DEFAULT 0, messages_to bigint NOT NULL DEFAULT 0,
    problems text NOT NULL DEFAULT '{}'
);

-- What can be found: a memory, a reflection, a message or passage of one, a passage of a document; the columns are
-- those of the index of a folder. `part`: 1 memories and reflections, 2 messages, 3 documents. `raw` is missing where
-- `memories` or `texts` has it. `digest`: of the words, which tells whether its postings and vector are still right.
CREATE TABLE entries (
    user_id text COLLATE "C", n integer, part smallint NOT NULL, record boolean NOT NULL,
    path text COLLATE "C" NOT NULL, ref text COLLATE "C" NOT NULL, hash text COLLATE "C" NOT NULL,
    digest bytea NOT NULL, line bigint NOT NULL, layer text COLLATE "C" NOT NULL, category text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL, status text COLLATE "C" NOT NULL, memory_id text COLLATE "C" NOT NULL,
    text_hash text COLLATE "C" NOT NULL, created double precision NOT NULL, happened double precision,
    expires double precision, importance double precision NOT NULL, pinned boolean NOT NULL,
    needs_revision boolean NOT NULL, embedded boolean NOT NULL, summary_ref text COLLATE "C",
    fact_key text COLLATE "C", external_id text COLLATE "C", begins double precision NOT NULL, ends double precision,
    superseded_by text COLLATE "C", confidence double precision NOT NULL, valid_from double precision NOT NULL,
    valid_to double precision, session_id text COLLATE "C", speaker text COLLATE "C", asks boolean NOT NULL,
    stands boolean NOT NULL, length integer NOT NULL, size integer NOT NULL, raw bytea,
    PRIMARY KEY (user_id, n)
);
CREATE UNIQUE INDEX entries_path ON entries (user_id, path, ref);
CREATE INDEX entries_part ON entries (user_id, part, n);
CREATE INDEX entries_memory ON entries (user_id, memory_id) WHERE memory_id <> '';
CREATE INDEX entries_created ON entries (user_id, created, memory_id) WHERE record;
CREATE INDEX entries_summary ON entries (user_id, summary_ref) WHERE summary_ref IS NOT NULL;
CREATE INDEX entries_key ON entries (user_id, fact_key) WHERE fact_key IS NOT NULL;
CREATE INDEX entries_external ON entries (user_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX entries_text ON entries (user_id, text_hash) WHERE text_hash <> '';
CREATE INDEX entries_expires ON entries (user_id, expires) WHERE expires IS NOT NULL;
CREATE INDEX entries_pinned ON entries (user_id) WHERE pinned;
CREATE INDEX entries_reflections ON entries (user_id) WHERE part = 1 AND NOT record;
CREATE INDEX entries_profile ON entries (user_id, (kind = 'preference' OR category = 'preference'), happened)
    WHERE kind NOT IN ('episode', 'knowledge', 'strategy', 'message') AND status = 'active' AND record;
CREATE INDEX entries_session ON entries (user_id, session_id, created, line, ref) WHERE session_id IS NOT NULL;
CREATE INDEX entries_message ON entries (user_id, ref) WHERE part = 2;
CREATE INDEX entries_pending ON entries (user_id, n) WHERE NOT embedded;

CREATE TABLE tags (
    user_id text COLLATE "C", tag text COLLATE "C", n integer, PRIMARY KEY (user_id, tag, n)
);
CREATE INDEX tags_entry ON tags (user_id, n);

-- How often each entry has each term (`tf`), and how many terms the entry has in all (`size`): BM25 needs no more.
CREATE TABLE postings (
    user_id text COLLATE "C", term text COLLATE "C", n integer NOT NULL, tf integer NOT NULL, size integer NOT NULL,
    part smallint NOT NULL, PRIMARY KEY (user_id, term, n) INCLUDE (tf, size, part)
);
CREATE INDEX postings_entry ON postings (user_id, n);

-- Vectors of whole numbers from -127 to 127, which halfvec holds exactly, their length (`norm`), and the sketch that is
-- compared first where there are many. Both are missing where the model knows nothing of the text.
CREATE TABLE vectors (
    user_id text COLLATE "C", n integer, part smallint NOT NULL, norm double precision, vector halfvec,
    PRIMARY KEY (user_id, n)
);
CREATE TABLE sketches (
    user_id text COLLATE "C", n integer, part smallint NOT NULL, sketch varbit NOT NULL, PRIMARY KEY (user_id, n)
);

-- Row-level security, a second wall behind the conditions of every statement. A transaction says for whom it works
-- (`memctl.user`); without that it sees no row. `memctl.reads` is the user who shares memories and documents with that
-- one: memctl sets it from `shares`, in the same transaction. (A look at `shares` in the policies themselves doubles the
-- time that a question takes.)

DO $$
DECLARE
    name text;
    mine text := $q$user_id = current_setting('memctl.user', true)$q$;
    reads text := $q$user_id = current_setting('memctl.reads', true)$q$;
BEGIN
    FOREACH name IN ARRAY ARRAY['users', 'shares', 'memories', 'texts', 'lines', 'messages', 'attachments', 'sessions',
        'offloads', 'queue', 'log', 'receipts', 'indexes', 'entries', 'tags', 'postings', 'vectors', 'sketches'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY own ON %I USING (%s) WITH CHECK (%s)', name, mine, mine);
    END LOOP;
    FOREACH name IN ARRAY ARRAY['users', 'memories', 'indexes', 'tags'] LOOP
        EXECUTE format('CREATE POLICY shared ON %I FOR SELECT USING (%s)', name, reads);
    END LOOP;
    FOREACH name IN ARRAY ARRAY['entries', 'postings', 'vectors', 'sketches'] LOOP
        EXECUTE format('CREATE POLICY shared ON %I FOR SELECT USING (%s AND part <> 2)', name, reads);
    END LOOP;
    EXECUTE format('CREATE POLICY shared ON texts FOR SELECT USING (%s AND name ~ $q$^(reflections|knowledge)/$q$)', reads);
END $$;
CREATE POLICY reader ON shares FOR SELECT USING (reader = current_setting('memctl.user', true));
-- `*` is nobody's name: whoever lists the users says it.
CREATE POLICY listed ON users FOR SELECT USING (current_setting('memctl.user', true) = '*');
