-- Tables under the names that other programs know, to read from: their queries go on running. As for the tables
-- themselves, a session says for whom it reads: SET memctl."user" = 'alice'. What a memory does not have is NULL.

-- Bytes as JSON; NULL where they are none.
CREATE FUNCTION json_of(data bytea) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN convert_from(data, 'UTF8')::jsonb;
EXCEPTION WHEN data_exception OR character_not_in_repertoire OR untranslatable_character THEN
    RETURN NULL;
END $$;

-- A moment of `entries`; records without a date are at the beginning of time there.
CREATE FUNCTION moment_of(seconds double precision) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN seconds > -62135596800 THEN to_timestamp(seconds) END
$$;

CREATE VIEW episodic_memories WITH (security_invoker = true) AS
SELECT e.ref AS id, e.user_id, r ->> 'session_id' AS session_id, r ->> 'content' AS summary,
    r -> 'metadata' -> 'key_topics' AS key_topics, r -> 'metadata' -> 'actions_taken' AS actions_taken,
    r -> 'metadata' -> 'outcomes' AS outcomes, v.vector::vector AS embedding, e.importance AS importance_score,
    moment_of(coalesce(e.happened, e.created)) AT TIME ZONE 'UTC' AS occurred_at,
    moment_of(e.created) AT TIME ZONE 'UTC' AS created_at
FROM entries e JOIN memories m ON m.user_id = e.user_id AND m.memory_id = e.ref
CROSS JOIN LATERAL json_of(m.raw) r
LEFT JOIN vectors v ON v.user_id = e.user_id AND v.n = e.n
WHERE e.record AND e.kind = 'episode' AND e.status = 'active';

CREATE VIEW semantic_memories WITH (security_invoker = true) AS
SELECT e.ref AS id, e.user_id,
    CASE WHEN r ->> 'subcategory' IN ('fact', 'skill', 'relationship', 'habit') THEN r ->> 'subcategory'
        WHEN e.kind = 'preference' OR e.category = 'preference' THEN 'preference' ELSE 'fact' END AS category,
    r ->> 'key' AS key, coalesce(r ->> 'value', r ->> 'content') AS value, e.confidence,
    coalesce((r ->> 'mentions')::numeric, 1) AS mentions,
    moment_of(e.created) AT TIME ZONE 'UTC' AS first_observed_at,
    moment_of(e.updated) AT TIME ZONE 'UTC' AS last_updated_at,
    moment_of(e.expires) AT TIME ZONE 'UTC' AS expires_at
FROM entries e JOIN memories m ON m.user_id = e.user_id AND m.memory_id = e.ref
CROSS JOIN LATERAL json_of(m.raw) r
WHERE e.record AND e.fact_key IS NOT NULL AND e.status = 'active';

CREATE VIEW episodes WITH (security_invoker = true) AS
SELECT e.ref AS id, r ->> 'session_id' AS session_id, e.user_id, about ->> 'trigger_type' AS trigger_type,
    about ->> 'trigger_summary' AS trigger_summary, about ->> 'task_description' AS task_description,
    coalesce(about -> 'steps', '[]') AS steps,
    CASE about ->> 'outcome' WHEN 'failure' THEN 'failed' ELSE about ->> 'outcome' END AS outcome,
    coalesce(about ->> 'outcome_summary', r ->> 'content') AS outcome_summary, v.vector::vector AS embedding,
    e.importance, coalesce((r ->> 'access_count')::numeric, 0) AS access_count,
    r ->> 'last_accessed_at' AS last_accessed_at, e.pinned, about ->> 'target' AS target,
    ARRAY(SELECT t.tag FROM tags t WHERE t.user_id = e.user_id AND t.n = e.n ORDER BY t.tag) AS tags,
    moment_of(coalesce(e.happened, e.created)) AS created_at
FROM entries e JOIN memories m ON m.user_id = e.user_id AND m.memory_id = e.ref
CROSS JOIN LATERAL json_of(m.raw) r CROSS JOIN LATERAL (SELECT r -> 'metadata') a (about)
LEFT JOIN vectors v ON v.user_id = e.user_id AND v.n = e.n
WHERE e.record AND e.kind = 'episode' AND e.status = 'active';

CREATE VIEW knowledge WITH (security_invoker = true) AS
SELECT e.ref AS id, e.user_id, coalesce(r -> 'metadata' ->> 'topic', '') AS topic, r ->> 'content' AS content,
    coalesce(r -> 'metadata' -> 'key_points', '[]') AS key_points, coalesce(r -> 'sources', '[]') AS source_episodes,
    v.vector::vector AS embedding, e.confidence, coalesce((r ->> 'access_count')::numeric, 0) AS access_count,
    r ->> 'last_accessed_at' AS last_accessed_at, moment_of(e.created) AS created_at, moment_of(e.updated) AS updated_at
FROM entries e JOIN memories m ON m.user_id = e.user_id AND m.memory_id = e.ref
CROSS JOIN LATERAL json_of(m.raw) r
LEFT JOIN vectors v ON v.user_id = e.user_id AND v.n = e.n
WHERE e.record AND e.kind = 'knowledge' AND e.status = 'active';

-- The task of each session; ended ones are episodes.
CREATE VIEW task_states WITH (security_invoker = true) AS
SELECT task ->> 'id' AS id, s.session_id, s.user_id, task ->> 'original_request' AS original_request,
    task ->> 'summary' AS summary, coalesce(task -> 'steps', '[]') AS steps,
    coalesce((task ->> 'current_step')::numeric, 0) AS current_step, coalesce(task -> 'context', '{}') AS context,
    task ->> 'status' AS status, (task ->> 'started_at')::timestamptz AS started_at,
    (task ->> 'updated_at')::timestamptz AS updated_at
FROM sessions s CROSS JOIN LATERAL (SELECT json_of(s.body) -> 'components' -> 'task') c (task)
WHERE task ->> 'id' IS NOT NULL;
