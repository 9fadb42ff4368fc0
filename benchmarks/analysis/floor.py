"""The floor: DuckDB over the same files, for what the job's two largest frames hold."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

import duckdb

READ = """
create temp table lines as
select filename, time, kind, agent, coalesce(community, '') community, coalesce(event, '') event,
       coalesce(hop, 0) hop, coalesce(upward, false) upward, coalesce(duplicate, false) duplicate,
       coalesce(parasite, false) parasite, coalesce(cause, '') cause, coalesce(copies, 1) copies,
       coalesce(message, '') message
from read_json('{files}', format = 'newline_delimited', filename = true, columns = {{
    time: 'BIGINT', kind: 'VARCHAR', agent: 'BIGINT', community: 'VARCHAR', event: 'VARCHAR',
    hop: 'BIGINT', upward: 'BOOLEAN', duplicate: 'BOOLEAN', parasite: 'BOOLEAN', cause: 'VARCHAR',
    copies: 'BIGINT', message: 'VARCHAR'}})
where kind is not null
"""
EVENTS = """
select filename, event, community,
       count(*) filter (kind = 'send' and not upward),
       count(*) filter (kind = 'receive'),
       count(*) filter (kind = 'receive' and duplicate),
       count(*) filter (kind = 'receive' and parasite),
       sum(copies) filter (kind = 'drop'),
       count(*) filter (kind = 'send' and upward),
       count(distinct agent) filter (kind = 'send' and upward),
       count(*) filter (kind = 'receive' and upward),
       count(distinct agent) filter (kind = 'deliver'),
       min(hop) filter (kind = 'receive' and not duplicate),
       max(hop) filter (kind = 'receive' and not duplicate),
       min(time) filter (kind = 'receive' and not duplicate),
       median(time) filter (kind = 'receive' and not duplicate),
       max(time) filter (kind = 'receive' and not duplicate)
from lines where event != '' group by all
"""
RUNS = """
select filename, kind, cause, sum(copies) from lines
where kind in ('send', 'receive', 'drop') group by all
"""


@dataclass
class Floor:
    seconds: float
    cpu: float
    sent: int
    received: int


def compute(run: Path) -> Floor:
    began, cpu = time.perf_counter(), time.process_time()
    with duckdb.connect() as connection:
        connection.execute("set enable_progress_bar = false")
        connection.execute(f"set threads = {len(os.sched_getaffinity(0))}")
        connection.execute(READ.format(files=run / "journal" / "*.jsonl.gz"))
        connection.execute(EVENTS).fetchall()
        rows = connection.execute(RUNS).fetchall()
    sent, received = (
        sum(number for _, kind, _, number in rows if kind == name) for name in ("send", "receive")
    )
    return Floor(time.perf_counter() - began, time.process_time() - cpu, sent, received)
