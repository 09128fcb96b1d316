"""What stands in CREATE STREAM and CREATE TABLE: columns with types, a watermark, a format with options."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from penstock.errors import closest
from penstock.model.schema import Field
from penstock.sql.reading.cursor import Cursor
from penstock.sql.reading.foreign import TYPES
from penstock.sql.text.places import Span, error, of_token
from penstock.sql.text.quantities import interval_seconds
from penstock.sql.typing import types
from penstock.sql.typing.storable import unheld


def columns(at: Cursor, kind: str, name: str) -> tuple[tuple[Field, ...], tuple[str, float] | None]:
    if at.peek() == "AS":
        raise at.error(
            f"a {kind} comes from outside; for a named SELECT write CREATE VIEW {name} AS SELECT …"
        )
    if at.peek() == "WITH":
        raise at.error(
            f"write CREATE {kind.upper()} {name} (column TYPE, …) USING format OPTIONS (path '…'), "
            f"or CREATE VIEW {name} AS SELECT … for a named SELECT"
        )
    if not at.take("("):
        raise at.error(f"{kind} '{name}' has no columns; write CREATE {kind.upper()} {name} (column TYPE, …)")
    fields: list[Field] = []
    watermark: tuple[str, float] | None = None
    while True:
        here = at.here
        if at.take("WATERMARK"):
            if watermark is not None:
                raise at.error("there is a watermark already; a stream has one", here)
            watermark = _watermark(at, fields)
        elif at.peek() in ("PRIMARY KEY", "FOREIGN KEY") or (at.peek(), at.peek(1)) == ("UNIQUE", "("):
            raise at.error(f"a {kind} has no keys; leave this out")
        else:
            column = at.name("a column")
            if any(column.lower() == field.name.lower() for field in fields):
                raise at.error(f"there are two columns named '{column}'; rename one", here)
            fields.append(Field(column, column_type(at)))
        if not at.take(","):
            break
    if not at.take(")"):
        raise at.unexpected("',' or ')'")
    if not fields:
        raise at.error(f"{kind} '{name}' has no columns; name at least one")
    return tuple(fields), watermark


def column_type(at: Cursor) -> str:
    """A column's type, in Spark's words."""
    tokens = at.tokens_until(",")
    while sum(token.text.count("<") - token.text.count(">") for token in tokens) > 0 and at.take(","):
        tokens += at.tokens_until(",")  # a comma inside map<…>
    if not tokens:
        raise at.unexpected("a type")
    if tokens[0].text.upper() in ("AS", "METADATA"):
        raise error(at.sql, of_token(tokens[0]), _NO_CONSTRAINTS[tokens[0].text.upper()])
    end = next((place for place in range(1, len(tokens)) if _ends_type(tokens[place])), len(tokens))
    span = Span(tokens[0].start, tokens[end - 1].end + 1)
    text = at.sql[span.start : span.end]
    try:
        type_ = str(types.parse(text))
    except (ValueError, IndexError, TypeError):
        raise error(at.sql, span, _no_type(text)) from None
    wrong = unheld(type_)
    if wrong is not None:
        instead = _foreign_type(wrong) or "string, and convert it in the query"
        raise error(at.sql, span, f"no stream or table can bring {wrong}; write {instead}")
    _check_rest(at, tokens[end:])
    return type_


def type_written(at: Cursor, *stops: str) -> str:
    """A type of any kind, up to one of these words, in Spark's words."""
    tokens = at.tokens_until(*stops)
    while sum(token.text.count("<") - token.text.count(">") for token in tokens) > 0 and at.take(","):
        tokens += at.tokens_until(*stops)  # a comma inside map<…>
    if not tokens:
        raise at.unexpected("a type")
    span = Span(tokens[0].start, tokens[-1].end + 1)
    text = at.sql[span.start : span.end]
    try:
        type_ = str(types.parse(text))
    except (ValueError, IndexError, TypeError):
        raise error(at.sql, span, _no_type(text)) from None
    wrong = unheld(type_)
    if wrong is not None or "`" in type_:
        what = wrong or "a field with such a name"
        raise error(at.sql, span, f"a function cannot have {what} here; take or return a string")
    return type_


def _foreign_type(text: str) -> str | None:
    """What to write for a type of another system, or for one that only expressions have."""
    words = " ".join(re.split(r"\([^)]*\)|<.*", text.lower())).split()
    return next(
        (TYPES[found] for size in range(len(words), 0, -1) if (found := " ".join(words[:size])) in TYPES),
        None,
    )


def _no_type(text: str) -> str:
    foreign = _foreign_type(text)
    if foreign is not None:
        return f"there is no type {text} here; write {foreign}"
    if re.fullmatch(r"timestamp(_ntz|_ltz)?\s*\(.*\)", text.lower()):
        return f"there is no type {text} here; write {text.partition('(')[0].strip()}, which has microseconds"
    known = ", ".join(_TYPES)
    return f"'{text}' is no type; use one of {known}, with ',' behind it.{closest(text.lower(), _TYPES)}"


def _ends_type(token: Token) -> bool:
    return token.text.upper() in ("COMMENT", "NOT", *_NO_CONSTRAINTS)


#: Behind a type elsewhere, and what to do about it here.
_NO_CONSTRAINTS = {
    "PRIMARY KEY": "rows have no keys; leave PRIMARY KEY out",
    "KEY": "rows have no keys; leave KEY out",
    "UNIQUE": "rows have no keys; leave UNIQUE out",
    "REFERENCES": "rows have no keys; leave REFERENCES out",
    "NULL": "every column can be NULL; leave NULL out",
    "DEFAULT": "there are no defaults; write coalesce(column, value) in the query",
    "CHECK": "rows are not checked; filter them in the query with WHERE",
    "GENERATED": "columns come with the rows; compute others in a view: CREATE VIEW … AS SELECT …",
    "AS": "columns come with the rows; compute others in a view: CREATE VIEW … AS SELECT …",
    "METADATA": "columns come with the rows; now() is when a row was taken in",
}


def _check_rest(at: Cursor, rest: list[Token]) -> None:
    """Behind a type: NOT NULL and COMMENT '…', which change nothing here."""
    words = [token.text.upper() for token in rest]
    if words[:2] == ["NOT", "NULL"]:
        rest, words = rest[2:], words[2:]
    if words[:1] == ["COMMENT"]:
        rest = rest[2:]
    if rest:
        why = _NO_CONSTRAINTS.get(rest[0].text.upper(), f"expected ',' or ')', found '{rest[0].text}'")
        raise error(at.sql, of_token(rest[0]), why)


_TYPE_NAMES = """boolean tinyint smallint int bigint float double decimal(p,s) string binary date timestamp
    timestamp_ntz array<…> map<…> struct<…>"""
_TYPES = tuple(_TYPE_NAMES.split())


def _watermark(at: Cursor, fields: list[Field]) -> tuple[str, float]:
    at.expect("FOR")
    here = at.here
    column = at.name("the column with the time")
    field = next((one for one in fields if one.name.lower() == column.lower()), None)
    if field is None:
        known = [one.name for one in fields]
        raise at.error(
            f"there is no column '{column}' before the watermark; name the column with the time."
            f"{closest(column, known)}",
            here,
        )
    if field.type not in ("timestamp", "timestamp_ntz"):
        raise at.error(f"column '{column}' is a {field.type}; a watermark needs a timestamp", here)
    if not at.take("AS"):
        return field.name, 0.0
    here = at.here
    tree = at.tree("the watermark", ",")
    wrong = at.error(
        f"a watermark is the time less a constant: {column} - INTERVAL 5 SECONDS, or {column}", here
    )
    while isinstance(tree, exp.Paren):
        tree = tree.this
    delay: exp.Expr | None = None
    if isinstance(tree, exp.Sub):
        tree, delay = tree.this, tree.expression
    if not isinstance(tree, exp.Column) or tree.name.lower() != column.lower():
        raise wrong
    if delay is None:
        return field.name, 0.0
    if not isinstance(delay, exp.Interval):
        raise wrong
    try:
        return field.name, interval_seconds(delay)
    except ValueError as problem:
        raise at.error(str(problem), here) from None


def format_and_options(at: Cursor) -> tuple[str, Mapping[str, str]]:
    if at.peek() == "WITH":
        raise at.error("write USING format OPTIONS (path '…') here, such as USING csv OPTIONS (path 'x.csv')")
    if not at.take("USING"):
        raise at.unexpected("USING and a format, such as USING csv")
    format_ = at.name("the format").lower()
    if at.peek() in ("LOCATION", "PATH", "WITH", "TBLPROPERTIES", "PARTITIONED"):
        raise at.error(f"write options in brackets: USING {format_} OPTIONS (path '…')")
    return format_, _options(at) if at.take("OPTIONS") else {}


def _options(at: Cursor) -> Mapping[str, str]:
    """`(path 'x', rate = 100)`, both ways."""
    options: dict[str, str] = {}
    for name, here in names_in_parentheses(at, "an option", dotted=True):
        if name in options:
            raise at.error(f"option '{name}' is given twice", here)
        at.take("=")
        value, _ = at.raw(",")
        if not value:
            raise at.unexpected(f"a value for '{name}'")
        options[name] = value
    return options


def names_in_parentheses(at: Cursor, what: str, dotted: bool = False) -> Iterator[tuple[str, Span]]:
    """The names of `(name = value, …)`; who asks reads the value behind each."""
    at.expect("(")
    if at.take(")"):
        return
    while True:
        here = at.here
        yield (at.option_name() if dotted else at.name(what).lower()), here
        if not at.take(","):
            break
    if not at.take(")"):
        raise at.unexpected("',' or ')'")
