"""ALTER: a query's wishes or SELECT, a stream's options and columns."""

from __future__ import annotations

from sqlglot import exp

from penstock.model.schema import Field
from penstock.sql.reading.cursor import Cursor
from penstock.sql.reading.definitions import column_type, names_in_parentheses
from penstock.sql.reading.statements import AlterQuery, AlterStream
from penstock.sql.reading.wishes import MOMENTS, WISHES, wish
from penstock.sql.text.places import Span


def alter_statement(at: Cursor) -> AlterQuery | AlterStream:
    """What stands behind ALTER."""
    if at.take("STREAM"):
        return _alter_stream(at)
    if at.peek() in ("TABLE", "VIEW", "SINK"):
        how = (
            "drop this and create it anew" if at.peek() == "TABLE" else f"write CREATE OR REPLACE {at.peek()}"
        )
        raise at.error(f"only a query or a stream can be altered; {how}")
    at.expect("QUERY")
    name = at.name("the query")
    if at.take("AS"):
        text = rest_of(at)
        return AlterQuery(at.subject, name, select=read_select(at), text=text)
    if at.peek() != "SET":
        raise at.error("expected SET (weight = 0.5), or AS SELECT", at.here)
    at.expect("SET")
    changes: dict[str, float | None] = {}
    for option, here in names_in_parentheses(at, "an option"):
        if option in MOMENTS:
            raise at.error(f"'{option}' is settled when a query is created; stop it and create another", here)
        field, value = wish(at, option, here, tuple(WISHES))
        if field in changes:
            raise at.error(f"'{option}' is given twice", here)
        changes[field] = value
    at.end()
    if not changes:
        raise at.error("nothing to set; write SET (weight = 0.5)", at.span)
    return AlterQuery(at.subject, name, changes)


def rest_of(at: Cursor) -> str:
    """The text from here to the end of the statement."""
    return at.sql[at.here.start : at.span.end]


def read_select(at: Cursor) -> exp.Expr:
    """A SELECT up to the end of the statement."""
    here = at.here
    tree = at.tree("SELECT")
    at.end()
    if not isinstance(tree, exp.Query):
        raise at.error("expected SELECT", here)
    return tree


def _alter_stream(at: Cursor) -> AlterStream:
    name = at.name("the stream")
    if at.take("ADD"):
        return _add_columns(at, name)
    if at.peek() in ("DROP", "RENAME", "ALTER", "CHANGE", "MODIFY"):
        raise at.error(
            f"the columns of stream '{name}' stay, though others can be added; rename or leave out some "
            "in a view"
        )
    if at.peek() != "SET":
        raise at.error("expected SET (rate = '2000/s'), or ADD COLUMN", at.here)
    at.expect("SET")
    options: dict[str, str | None] = {}
    spans: dict[str, Span] = {}
    for option, here in names_in_parentheses(at, "an option", dotted=True):
        if option in options:
            raise at.error(f"option '{option}' is given twice", here)
        at.take("=")
        if at.peek() == "NULL" and at.take("NULL"):
            options[option] = None
        else:
            value, _ = at.raw(",")
            if not value:
                raise at.unexpected(f"a value for '{option}'")
            options[option] = value
        spans[option] = here
    at.end()
    if not options:
        raise at.error("nothing to set; write SET (rate = '2000/s')", at.span)
    return AlterStream(at.subject, name, options, spans)


def _add_columns(at: Cursor, stream: str) -> AlterStream:
    """`COLUMN c INT` or `COLUMNS (c INT, d STRING)`, behind ADD."""
    if at.peek() in ("COLUMN", "COLUMNS"):
        at.take(at.peek())
    several = at.take("(")
    columns: list[Field] = []
    spans: dict[str, Span] = {}
    while not columns or (several and at.take(",")):
        here = at.here
        column = at.name("a column")
        if any(column.lower() == one.name.lower() for one in columns):
            raise at.error(f"there are two columns named '{column}'; rename one", here)
        columns.append(Field(column, column_type(at)))
        spans[column] = here
    if several and not at.take(")"):
        raise at.unexpected("',' or ')'")
    at.end()
    return AlterStream(at.subject, stream, spans=spans, columns=tuple(columns))
