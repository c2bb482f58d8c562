"""LangGraph's `PostgresStore` on the memories, questions and vectors of `bench.postgres`, which runs this file in an
interpreter that has langgraph-checkpoint-postgres. Prints the median of a search in milliseconds, by size."""

import json
import statistics
import sys
import time

from langgraph.store.base import PutOp
from langgraph.store.postgres import PostgresStore


def main(address: str, path: str) -> None:
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    known = dict(zip([*data["questions"], *data["texts"]], data["vectors"], strict=True))
    index = {
        "dims": len(data["vectors"][0]),
        "embed": lambda texts: [known[text] for text in texts],
        "fields": ["text"],
    }
    taken = {}
    with PostgresStore.from_conn_string(address, index=index) as store:
        store.setup()
        for count in data["counts"]:
            operations = [
                PutOp((f"peer-{count}",), f"m{n}", {"text": text}) for n, text in enumerate(data["texts"][:count])
            ]
            for start in range(0, count, 500):
                store.batch(operations[start : start + 500])
        for count in data["counts"]:
            times = []
            for question in data["questions"]:
                start = time.perf_counter()
                store.search((f"peer-{count}",), query=question, limit=10)
                times.append((time.perf_counter() - start) * 1000)
            taken[count] = statistics.median(times[5:])
    print(json.dumps(taken))


if __name__ == "__main__":
    main(*sys.argv[1:])
