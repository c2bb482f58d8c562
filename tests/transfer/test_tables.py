"""Tables of other programs are imported, and the queries of these programs run on views of memctl's own tables.

Tables and queries are those of two published designs of agent memories on PostgreSQL.
"""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest
from conftest import Database
from psycopg.rows import dict_row

from memctl import open_store
from memctl.cli.main import main
from memctl.providers.registry import load_embedder

SCHEMA = """
CREATE TABLE episodic_memories (
id VARCHAR(36) PRIMARY KEY,
user_id VARCHAR(64) NOT NULL,
session_id VARCHAR(64),
summary TEXT NOT NULL,
key_topics JSONB,
actions_taken JSONB,
outcomes JSONB,
embedding vector(3),
importance_score FLOAT,
occurred_at TIMESTAMP,
created_at TIMESTAMP DEFAULT NOW()
);
CREATE TABLE semantic_memories (id VARCHAR(36) PRIMARY KEY, user_id VARCHAR(64), category VARCHAR(32),
key VARCHAR(64), value TEXT, confidence REAL, mentions INTEGER, first_observed_at TIMESTAMP,
last_updated_at TIMESTAMP, expires_at TIMESTAMP);
CREATE TABLE task_states (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    original_request TEXT NOT NULL,
    summary TEXT,
    steps JSONB DEFAULT '[]',
    current_step INTEGER DEFAULT 0,
    context JSONB DEFAULT '{}',
    status TEXT DEFAULT 'in_progress',
    started_at TIMESTAMPTZ DEFAULT NOW(),
    updated_at TIMESTAMPTZ DEFAULT NOW()
);
CREATE TABLE episodes (id TEXT PRIMARY KEY, session_id TEXT, user_id TEXT, trigger_type TEXT, trigger_summary TEXT,
    steps JSONB, outcome TEXT, outcome_summary TEXT, embedding vector(3), importance DOUBLE PRECISION,
    access_count INTEGER, last_accessed_at TIMESTAMPTZ, pinned BOOLEAN, target TEXT, tags TEXT[],
    created_at TIMESTAMPTZ, consolidated BOOLEAN);
CREATE TABLE knowledge (id TEXT PRIMARY KEY, topic TEXT, content TEXT, key_points JSONB, source_episodes JSONB,
    embedding vector(3), confidence DOUBLE PRECISION, access_count INTEGER, last_accessed_at TIMESTAMPTZ,
    created_at TIMESTAMPTZ, updated_at TIMESTAMPTZ);
"""

ROWS = """
INSERT INTO episodic_memories VALUES
('e1', 'alice', 's1', '用户咨询了容器重启的方法', '["nginx", "容器"]', '["docker restart"]', '["恢复"]', '[1,0,0]', 0.8,
 '2026-02-01 10:00', '2026-02-01 10:05'),
('e2', 'alice', 's1', 'Alice booked a table for two', NULL, NULL, NULL, NULL, 0.2, '2026-03-01', '2026-03-01'),
('e3', 'bob', 's2', 'Bob sold his car', NULL, NULL, NULL, NULL, 0.9, '2026-03-01', '2026-03-01');
INSERT INTO semantic_memories VALUES
('m1', 'alice', 'preference', 'favorite_language', 'Python', 0.95, 4, '2026-01-01', '2026-02-01', NULL),
('m2', 'alice', 'skill', 'sql', 'fluent', 0.7, 1, '2026-01-01', '2026-01-01', NULL),
('m3', 'alice', 'fact', 'hotel', 'room 7', 0.4, 1, '2026-01-01', '2026-01-01', '2039-01-01');
INSERT INTO task_states (id, session_id, user_id, original_request, summary, steps, status) VALUES
('t1', 'ops', 'alice', 'Restart nginx', 'restarting',
 '[{"description": "docker restart", "tool_name": "docker", "args": {"name": "nginx"}, "status": "in_progress"}]',
 'in_progress'),
('t2', 'ops', 'alice', 'Rotate the logs', 'done', '[]', 'completed');
INSERT INTO episodes VALUES
('ep1', 'ops', 'alice', 'alert', 'nginx 502', '[{"description": "docker restart", "status": "completed"}]', 'success',
 'Upstream was down; restarted it', '[0,1,0]', 0.9, 3, '2026-04-01', true, 'nginx', '{ops,nginx}', '2026-03-20', false),
('ep2', 'ops', 'alice', 'user_request', 'scale out', '[]', 'failed', 'No quota', NULL, 0.6, 0, NULL, false, 'nginx',
 '{}', '2026-03-21', true);
INSERT INTO knowledge VALUES ('k1', 'nginx 容器运维', '重启 nginx 容器时，先检查配置文件语法。', '["检查配置", "等待 10 秒"]',
 '["ep1", "ep2"]', NULL, 0.8, 1, NULL, '2026-04-01', '2026-04-02');
"""


@pytest.fixture
def tables(database: Database) -> str:
    """The address of a database with the tables of other programs, beside memctl's own."""
    database.databases.run("CREATE SCHEMA agent", in_schema("agent"), database=database.name)
    return f"{database.admin}&options=-csearch_path%3Dagent%2Cpublic"


def in_schema(name: str) -> str:
    return f"SET search_path = {name}, public; {SCHEMA} {ROWS}"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def imported(capsys: pytest.CaptureFixture[str], store: str, tables: str, *more: str) -> dict[str, object]:
    main(["--store", store, "--user", "alice", "user", "add", "alice"])
    capsys.readouterr()
    code, out, err = run(capsys, "--store", store, "--user", "alice", "--json", "import", tables, *more)
    assert code == 0, err
    return json.loads(out)


def test_rows_become_memories_and_tasks(tables: str, tmp_path: Path, capsys, environment):
    told = imported(capsys, str(tmp_path / "store"), tables, "--only-store", "alice")

    assert told["counts"] == {"added": 9, "open tasks": 1}
    with open_store(tmp_path / "store", "alice", environment=environment) as store:
        found = {memory.external_id: memory for memory in store.all()}
        assert store.query("nginx 502").hits[0].memory.external_id == "episodes:ep1"
        task = store.tasks.get("ops")
    first = found["episodic_memories:e1"]
    assert (first.content, first.kind, first.importance) == ("用户咨询了容器重启的方法", "episode", 0.8)
    assert first.metadata["actions_taken"] == ["docker restart"]
    assert found["semantic_memories:m1"].key == "favorite_language"
    assert found["semantic_memories:m1"].mentions == 4
    assert found["semantic_memories:m2"].subcategory == "skill"
    assert found["semantic_memories:m3"].expires_at.year == 2039
    assert found["episodes:ep1"].pinned
    assert found["episodes:ep2"].metadata["outcome"] == "failure"
    assert found["knowledge:k1"].metadata["key_points"] == ["检查配置", "等待 10 秒"]
    assert found["task_states:t2"].metadata["outcome"] == "success"
    assert task is not None
    assert (task.id, task.steps[0].tool_name) == ("t1", "docker")
    assert not any("Bob" in memory.content for memory in found.values())


def test_importing_again_adds_nothing(tables: str, tmp_path: Path, capsys):
    imported(capsys, str(tmp_path / "store"), tables, "--only-store", "alice")

    assert "added" not in imported(capsys, str(tmp_path / "store"), tables, "--only-store", "alice")["counts"]


def test_bad_input(tables: str, database: Database, tmp_path: Path, capsys):
    main(["--store", str(tmp_path / "store"), "user", "add", "alice"])
    store = ("--store", str(tmp_path / "store"), "--user", "alice")

    code, _, err = run(capsys, *store, "import", tables)
    assert (code, "rows of 2 users" in err, "--only-store USER_ID" in err) == (2, True, True)
    code, _, err = run(capsys, *store, "import", tables, "--only-store", "carla")
    assert (code, "no row of" in err) == (1, True)
    code, _, err = run(capsys, *store, "import", database.admin)
    assert (code, "has none of the tables" in err) == (1, True)
    code, _, err = run(capsys, *store, "import", tables, "--format", "mem0")
    assert (code, "--format is for files" in err) == (2, True)
    database.databases.run("UPDATE agent.knowledge SET content = ''", database=database.name)
    code, _, err = run(capsys, *store, "import", tables, "--only-store", "alice")
    assert (code, "knowledge 'k1'" in err) == (3, True)


# The queries of the two designs

SIMILAR = """
SELECT *, 1 - (embedding <=> %(embedding)s::vector) AS similarity
FROM episodic_memories
WHERE user_id = %(userId)s
AND importance_score > 0.3 -- 过滤低重要性记忆
ORDER BY embedding <=> %(embedding)s::vector
LIMIT %(topK)s;
"""

OTHERS = {
    "findByUserIdAndCategoryAndKey": "SELECT * FROM semantic_memories WHERE user_id = 'alice'"
    " AND category = 'preference' AND key = 'favorite_language'",
    "findActiveByUserId": "SELECT * FROM semantic_memories WHERE user_id = 'alice'"
    " AND (expires_at IS NULL OR expires_at > now()) AND confidence >= 0.6 ORDER BY confidence DESC LIMIT 20",
    "findOlderThan": "SELECT * FROM episodic_memories WHERE occurred_at < now() - interval '30 days'",
    "getCurrentTask": "SELECT * FROM task_states WHERE session_id = 'ops' AND status = 'in_progress'"
    " ORDER BY updated_at DESC LIMIT 1",
    "unconsolidated": "SELECT target, count(*) FROM episodes GROUP BY target HAVING count(*) >= 2",
    "lowImportance": "SELECT id FROM episodes WHERE importance < 0.95 AND created_at < now() AND pinned = false",
    "searchKnowledge": "SELECT id, topic, content, key_points, source_episodes, confidence FROM knowledge"
    " WHERE confidence BETWEEN 0.5 AND 1.0",
}


def test_the_queries_of_the_designs_run_on_the_views(tables: str, database: Database, capsys):
    imported(capsys, database.address, tables, "--only-store", "alice")
    embedder = load_embedder("builtin", cache_dir=Path("/nowhere"), base_url="", api_key="", timeout=1)
    [vector] = embedder.embed(["容器重启"])

    with psycopg.connect(database.address, row_factory=dict_row) as connection:
        connection.execute("SET search_path = memctl, public")
        assert connection.execute("SELECT * FROM episodes").fetchall() == []  # nobody said for whom
        connection.execute("SET memctl.\"user\" = 'alice'")
        similar = connection.execute(
            SIMILAR, {"embedding": str(list(map(float, vector))), "userId": "alice", "topK": 3}
        )
        found = similar.fetchall()
        rows = {name: connection.execute(query).fetchall() for name, query in OTHERS.items()}

    assert found[0]["summary"] == "用户咨询了容器重启的方法"
    assert found[0]["key_topics"] == ["nginx", "容器"]
    assert found[0]["similarity"] > found[-1]["similarity"]
    assert all(row["importance_score"] > 0.3 for row in found)
    assert [row["value"] for row in rows["findByUserIdAndCategoryAndKey"]] == ["Python"]
    assert [row["key"] for row in rows["findActiveByUserId"]] == ["favorite_language", "sql"]
    assert rows["findOlderThan"]
    assert [(row["id"], row["steps"][0]["tool_name"]) for row in rows["getCurrentTask"]] == [("t1", "docker")]
    assert {"target": "nginx", "count": 2} in rows["unconsolidated"]
    assert rows["lowImportance"]
    assert [row["topic"] for row in rows["searchKnowledge"]] == ["nginx 容器运维"]


def test_views_withstand_what_others_wrote(database: Database, environment):
    with open_store(database.address, "alice", create=True, environment=environment) as store:
        store.add("an episode", kind="episode", metadata={"key_topics": "one", "outcome": 7})
    database.databases.run(
        "INSERT INTO memctl.sessions VALUES ('alice', 's', '\\xff', true), ('alice', 't', '[1]', true)",
        database=database.name,
    )
    with psycopg.connect(database.address, row_factory=dict_row) as connection:
        connection.execute("SET memctl.\"user\" = 'alice'")
        assert connection.execute("SELECT key_topics FROM memctl.episodic_memories").fetchone()
        assert connection.execute("SELECT * FROM memctl.episodes").fetchone()["outcome"] == "7"
        assert connection.execute("SELECT * FROM memctl.task_states").fetchall() == []
