"""A file of Penstock SQL into Spark SQL, one SELECT for each continuous query.

The SELECTs read temporary views that whoever runs them registers under the names of streams and tables:

- a stream has its declared columns and `__offset BIGINT` (place in the log, from 0), `__late BIGINT` (the
  watermark in microseconds that the row was behind at ingest, NULL for most), `__epoch BIGINT` (how often
  stored tables had changed when the row came in) and `__now TIMESTAMP` (what `now()` is for it);
- a stored table has its declared columns and `__from BIGINT`, `__to BIGINT`: the row is there in the epochs
  `__from <= epoch < __to`;
- functions in Python have their names; aggregates end with `__of_rows`, and take a list of structs.

When a query starts and stops is a matter of its life: the views hold the rows that it sees. The session's
time zone must be UTC, as Penstock's is.
"""

from __future__ import annotations

from penstock.oracle.definitions import Definitions
from penstock.oracle.queries import IN_ORDER, translated
from penstock.sql.reading.reader import read
from penstock.sql.reading.statements import CreateQuery, Drop
from penstock.sql.text.places import Problem, error, of_tree


def has_order(text: str) -> bool:
    """Whether the rows of a translated SELECT come in an order: that of their time."""
    return text.endswith(IN_ORDER)


def translate(sql: str) -> dict[str, str]:
    """The SELECT of each continuous query of a file, by name; PenstockError for what cannot be translated."""
    definitions = Definitions()
    selects: dict[str, str] = {}
    for statement in read(sql):
        try:
            definitions.take(statement)
            match statement:
                case CreateQuery(one_time=True):
                    raise error(
                        sql, statement.span, "a one-time query is not supported; its window is not known"
                    )
                case CreateQuery(name=name, select=select):
                    selects.setdefault(name, translated(sql, definitions.gathered(select), definitions))
                case Drop(kind="query", name=name):
                    selects = {key: text for key, text in selects.items() if key.lower() != name.lower()}
        except Problem as problem:
            span = of_tree(problem.node) if problem.node is not None else None
            raise error(sql, span, problem.message) from None
    return selects
