"""Text into statements: what stands around a SELECT is read here, the SELECT itself by sqlglot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from penstock.errors import SqlError, closest
from penstock.model.qos import QoS
from penstock.model.query import OnError
from penstock.model.scheduling import SCHEDULINGS
from penstock.model.schema import Schema
from penstock.sql.reading.altering import alter_statement, read_select, rest_of
from penstock.sql.reading.cursor import Cursor
from penstock.sql.reading.definitions import columns, format_and_options, names_in_parentheses
from penstock.sql.reading.foreign import NO_STATEMENTS, NOT_CREATED
from penstock.sql.reading.functions import create_function
from penstock.sql.reading.statements import (
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateTable,
    CreateView,
    Describe,
    Drop,
    Explain,
    Kind,
    Moment,
    SetPartition,
    SetPolicy,
    SetScheduling,
    Show,
    SplitStream,
    Statement,
    StopQuery,
    SubmitPlan,
)
from penstock.sql.reading.wishes import MOMENTS, WISHES, check_moments, moment, on_error, wish
from penstock.sql.text.dialect import tokenize
from penstock.sql.text.places import Span, error, of_token

_KINDS: Mapping[str, Kind] = {
    "STREAM": "stream",
    "TABLE": "table",
    "VIEW": "view",
    "QUERY": "query",
    "SINK": "sink",
    "PARTITION": "partition",
    "FUNCTION": "function",
}
_EXPLAIN_OPTIONS = (
    "ANALYZE",
    "EXTENDED",
    "FORMATTED",
    "VERBOSE",
    "CODEGEN",
    "COST",
    "PLAN",
    "ESTIMATED_COST",
)
SHOWN = ("STREAMS", "TABLES", "VIEWS", "QUERIES", "SINKS", "FUNCTIONS", "POLICIES", "PARTITIONS")


def read(sql: str) -> Iterator[Statement]:
    """The statements of a text, one after the other; SqlError at the first that cannot be read."""
    for statement, _ in read_with_places(sql):
        yield statement


def read_with_places(sql: str) -> Iterator[tuple[Statement, Span]]:
    """The statements of a text, and where each stands in it, without its semicolon."""
    for tokens in _statements(sql):
        at = Cursor(sql, tokens)
        yield _statement(at), at.span


def read_one(sql: str) -> Statement:
    """The one statement of a text."""
    found = _statements(sql)
    if len(found) != 1:
        what = "there is no statement" if not found else "there are several statements; give one at a time"
        raise error(sql, Span(0, 1) if not found else of_token(found[1][0]), what)
    return _statement(Cursor(sql, found[0]))


def _statements(sql: str) -> list[list[Token]]:
    try:
        tokens = tokenize(sql)
    except (TokenError, ParseError):
        raise _token_error(sql) from None
    statements: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            statements.append([])
        else:
            statements[-1].append(token)
    return [statement for statement in statements if statement]


def _token_error(sql: str) -> SqlError:
    """sqlglot says where a text ends; where a string, a name or a comment began is more help."""
    place = 0
    while place < len(sql):
        opening = next((sign for sign in ("'", '"', "`", "--", "/*") if sql.startswith(sign, place)), None)
        if opening is None:
            place += 1
            continue
        closing = {"--": "\n", "/*": "*/"}.get(opening, opening)
        end = place + len(opening)
        while end < len(sql) and not sql.startswith(closing, end):
            end += 2 if sql[end] == "\\" and opening in ("'", '"') else 1
        if end >= len(sql) and opening != "--":
            kind = {"`": "name", "/*": "comment"}.get(opening, "string")
            inside = "; a ' inside a string is written twice" if opening == "'" else ""
            return error(
                sql, Span(place, place + len(opening)), f"this {kind} is never closed; add {closing}{inside}"
            )
        place = end + len(closing)
    return error(sql, Span(len(sql), len(sql) + 1), "this cannot be read as SQL")


def _statement(at: Cursor) -> Statement:
    first = at.peek()
    match first:
        case "CREATE":
            at.take("CREATE")
            return _create(at)
        case "SELECT" | "WITH" | "FROM" | "(":
            raise at.error(
                "a SELECT needs a name to run under; write CREATE CONTINUOUS QUERY name AS SELECT …, "
                "or EXPLAIN SELECT … to see its plan"
            )
        case "SPLIT":
            at.take("SPLIT")
            return _split(at)
        case "SUBMIT":
            at.expect("SUBMIT", "PLAN")
            here = at.here
            plan = SubmitPlan(here, at.string("a plan as JSON"))
            at.end()
            return plan
        case "ALTER":
            at.take("ALTER")
            return alter_statement(at)
        case "STOP":
            at.expect("STOP", "QUERY")
            name = at.name("the query")
            stop = StopQuery(at.subject, name, at.take("AND", "DRAIN"))
            at.end()
            return stop
        case "DROP":
            at.take("DROP")
            return _drop(at)
        case "SHOW":
            at.take("SHOW")
            show = Show(at.span, at.one_of("what to show", SHOWN).lower())
            at.end()
            return show
        case "DESCRIBE" | "DESC":
            at.take(first)
            if at.peek() in ("EXTENDED", "FORMATTED") and at.peek(1):
                raise at.error(f"DESCRIBE has no options; leave {at.peek()} out")
            for kind in _KINDS:
                if kind not in ("PARTITION", "FUNCTION") and at.peek(1):
                    at.take(kind)
            name = at.name("what to describe")
            describe = Describe(at.subject, name)
            at.end()
            return describe
        case "EXPLAIN":
            at.take("EXPLAIN")
            return _explain(at)
        case "SET":
            at.take("SET")
            return _set(at)
    if first in NO_STATEMENTS:
        raise at.error(f"there is no statement {first} here; {NO_STATEMENTS[first]}")
    known = ("CREATE", "ALTER", "STOP", "DROP", "SHOW", "DESCRIBE", "EXPLAIN", "SET", "SPLIT", "SUBMIT")
    raise at.error(
        f"no statement begins with '{first}'; use one of {', '.join(known)}.{closest(first, known)}"
    )


def _create(at: Cursor) -> Statement:
    anew = at.take("OR", "REPLACE")
    if anew and at.peek() in ("STREAM", "TABLE", "FUNCTION", "AGGREGATE"):
        instead = "write ALTER STREAM … SET (…), or " if at.peek() == "STREAM" else ""
        raise at.error(f"OR REPLACE is for queries, views and sinks; {instead}drop it first")
    match at.peek():
        case "STREAM":
            at.take("STREAM")
            return _create_stream(at)
        case "TABLE":
            at.take("TABLE")
            return _create_table(at)
        case "VIEW":
            at.take("VIEW")
            return _create_view(at, anew)
        case "SINK":
            at.take("SINK")
            return _create_sink(at, anew)
        case "CONTINUOUS" | "ONE":
            return _create_query(at, anew)
        case "FUNCTION":
            at.take("FUNCTION")
            return create_function(at, aggregate=False)
        case "AGGREGATE":
            at.expect("AGGREGATE", "FUNCTION")
            return create_function(at, aggregate=True)
        case "QUERY":
            raise at.error("say which: CREATE CONTINUOUS QUERY or CREATE ONE-TIME QUERY")
    if at.peek() in NOT_CREATED:
        raise at.error(f"CREATE {at.peek()} is not supported; {NOT_CREATED[at.peek()]}")
    words = ("STREAM", "TABLE", "VIEW", "SINK", "FUNCTION", "CONTINUOUS QUERY", "ONE-TIME QUERY")
    raise at.error(f"CREATE takes {', '.join(words)}, not '{at.peek()}'.{closest(at.peek(), words)}")


def _if_not_exists(at: Cursor, anew: bool = False) -> bool:
    here = at.here
    quiet = at.take("IF", "NOT", "EXISTS")
    if quiet and anew:
        raise at.error("OR REPLACE and IF NOT EXISTS exclude each other; leave one out", here)
    return quiet


def _create_stream(at: Cursor) -> CreateStream:
    quiet, name = _if_not_exists(at), at.name("the stream")
    fields, watermark = columns(at, "stream", name)
    format_, options = format_and_options(at)
    at.end()
    time, delay_s = watermark or (None, 0.0)
    return CreateStream(at.subject, name, Schema(fields), time, delay_s, format_, options, quiet)


def _create_table(at: Cursor) -> CreateTable:
    quiet, name = _if_not_exists(at), at.name("the table")
    here = at.here
    fields, watermark = columns(at, "table", name)
    if watermark is not None:
        raise at.error("a stored table has no watermark; only a stream has one", here)
    format_, options = format_and_options(at)
    at.end()
    return CreateTable(at.subject, name, Schema(fields), format_, options, quiet)


def _create_query(at: Cursor, anew: bool = False) -> CreateQuery:
    one_time = at.peek() == "ONE"
    at.expect(*(("ONE", "-", "TIME", "QUERY") if one_time else ("CONTINUOUS", "QUERY")))
    quiet, name = _if_not_exists(at, anew), at.name("the query")
    wishes: dict[str, float | None] = {}
    moments: dict[str, Moment] = {}
    windows = 0
    failing: OnError | None = None
    if at.take("WITH"):
        for option, here in names_in_parentheses(at, "an option"):
            told = failing is not None if option == "on_error" else option in moments
            told = told or (option == "stop" and windows > 0)
            if told or (option in WISHES and WISHES[option][0] in wishes):
                raise at.error(f"'{option}' is given twice", here)
            if option in MOMENTS:
                found = moment(at, option)
                if isinstance(found, Moment):
                    moments[option] = found
                else:
                    windows = found
            elif option == "on_error":
                failing = on_error(at)
            else:
                field, value = wish(at, option, here, (*WISHES, *MOMENTS, "on_error"))
                wishes[field] = value
    at.expect("AS")
    text, select = rest_of(at), read_select(at)
    qos = QoS(**{field: value for field, value in wishes.items() if value is not None})
    check_moments(at, moments)
    start, stop = moments.get("start"), moments.get("stop")
    return CreateQuery(
        at.subject, name, select, qos, start, stop, windows, one_time, quiet, failing or "hold", anew, text
    )


def _create_view(at: Cursor, anew: bool) -> CreateView:
    quiet, name = _if_not_exists(at, anew), at.name("the view")
    at.expect("AS")
    return CreateView(at.subject, name, read_select(at), quiet, anew)


def _create_sink(at: Cursor, anew: bool) -> CreateSink:
    quiet, name = _if_not_exists(at, anew), at.name("the sink")
    if at.peek() == "AS":
        raise at.error(
            f"a sink takes the results of a query; write CREATE CONTINUOUS QUERY q AS SELECT …, "
            f"and CREATE SINK {name} FROM q USING …"
        )
    at.expect("FROM")
    here = at.here
    query = at.name("the query")
    format_, options = format_and_options(at)
    at.end()
    return CreateSink(at.subject, name, query, here, format_, options, quiet, anew)


def _split(at: Cursor) -> SplitStream:
    anew = at.take("OR", "REPLACE")
    at.expect("STREAM")
    source = at.name("the stream")
    at.expect("INTO")
    outputs: list[tuple[str, exp.Expr | None]] = []
    while True:
        here = at.here
        name = at.name("a part")
        if any(name.lower() == other.lower() for other, _ in outputs):
            raise at.error(f"there are two parts named '{name}'; rename one", here)
        if outputs and outputs[-1][1] is None:
            raise at.error("OTHERWISE must come last", here)
        if at.take("OTHERWISE"):
            outputs.append((name, None))
        elif at.take("WHERE"):
            outputs.append((name, at.tree("a condition", ",")))
        else:
            raise at.unexpected("WHERE and a condition, or OTHERWISE")
        if not at.take(","):
            break
    at.end()
    if outputs[0][1] is None:
        raise at.error("OTHERWISE needs parts with conditions before it", at.span)
    return SplitStream(at.subject, source, tuple(outputs), anew)


def _drop(at: Cursor) -> Drop:
    kind = _KINDS[at.one_of("what to drop", tuple(_KINDS))]
    quiet = at.take("IF", "EXISTS")
    name = at.name(f"the {kind}")
    drop = Drop(at.subject, kind, name, quiet)
    at.end()
    return drop


def _explain(at: Cursor) -> Explain:
    span = at.span
    if at.peek() in _EXPLAIN_OPTIONS and at.peek(1):
        raise at.error(f"EXPLAIN has no options; leave {at.peek()} out")
    match at.peek():
        case "CREATE":
            at.take("CREATE")
            return Explain(span, _create_query(at))
        case "SELECT" | "WITH" | "FROM" | "(":
            return Explain(span, CreateQuery(span, "explained", read_select(at)))
    name = at.name("a query, or SELECT")
    at.end()
    return Explain(at.subject, name)


def _set(at: Cursor) -> SetPolicy | SetScheduling | SetPartition:
    if at.take("PARTITION"):
        return _set_partition(at)
    here = at.here
    name = at.option_name()
    known = ("policy", "scheduling")
    if name not in known:
        raise at.error(f"there is no setting '{name}'; set {' or '.join(known)}.{closest(name, known)}", here)
    at.expect("=")
    here = at.here
    value = at.string(f"a {name}")
    at.end()
    if name == "policy":
        return SetPolicy(at.span, value)
    for scheduling in SCHEDULINGS:
        if value.lower() == scheduling:
            return SetScheduling(at.span, scheduling)
    words = ", ".join(SCHEDULINGS)
    raise at.error(f"there is no scheduling '{value}'; use {words}.{closest(value, SCHEDULINGS)}", here)


def _set_partition(at: Cursor) -> SetPartition:
    name = at.name("the partition")
    span = at.subject
    found: dict[str, Any] = {}
    known = ("queries", "operators", "policy", "priority")
    for option, here in names_in_parentheses(at, "an option"):
        if option not in known:
            use = f"use {', '.join(known)}.{closest(option, known)}"
            raise at.error(f"a partition has no option '{option}'; {use}", here)
        if option in found:
            raise at.error(f"'{option}' is given twice", here)
        at.expect("=")
        text, place = at.raw(",")
        value = text.strip().removeprefix("'").removesuffix("'").strip()
        if not value:
            raise at.unexpected(f"a value for '{option}'")
        if option == "policy":
            found[option] = value
        elif option == "priority":
            found[option] = _priority(at, value, place)
        else:
            found[option] = tuple(one.strip() for one in value.split(",") if one.strip())
    at.end()
    if not found:
        raise at.error("nothing to set; write SET PARTITION p (queries = 'a, b', priority = 2)", at.span)
    return SetPartition(span, name, **found)


def _priority(at: Cursor, text: str, place: Span) -> float:
    try:
        value = float(text)
    except ValueError:
        raise at.error(f"priority is {text}; it must be a number", place) from None
    if not 0 < value < float("inf"):
        raise at.error(f"priority is {text}; it must be more than 0", place)
    return value
