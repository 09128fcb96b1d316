"""How things stand on a server: queries against what they asked for, streams, and what fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from penstock.client.charts import sparkline
from penstock.client.documents import columns_text, named
from penstock.client.html import Html, document, table, tag
from penstock.explain.quantities import rate_text
from penstock.sql.text.quantities import rough_seconds, shown_bytes, shown_seconds

#: What is the worse the more there is of it.
_LESS_IS_BETTER = ("latency", "memory")
#: Those first that somebody should look at.
_STATES = ("failed", "held", "draining")
_CLASSES = {
    "violated": "bad",
    "met": "good",
    "spare": "good",
    "failed": "bad",
    "held": "soso",
    "failing": "bad",
}


@dataclass(frozen=True, slots=True)
class Wish:
    """One thing that a query asked for, what it gets, and why that is not enough if it is not."""

    name: str
    asked: float
    measured: float | None
    verdict: str
    cause: str = ""

    @property
    def overrun(self) -> float:
        """How many times worse than asked it is: 2 for four seconds where two were asked for."""
        if self.measured is None:
            return 0.0
        worse, better = self.measured, self.asked
        if self.name not in _LESS_IS_BETTER:
            worse, better = better, worse
        return worse / better if better > 0 else float(worse > 0) * 1e9

    def __str__(self) -> str:
        if self.measured is None:
            return f"{self.name} {self.verdict}"
        cause = f": {self.cause}" if self.cause else ""
        got, asked = quantity_text(self.name, self.measured), quantity_text(self.name, self.asked)
        return f"{self.name} {self.verdict}, {got} of {asked}{cause}"


@dataclass(frozen=True, slots=True)
class QueryStatus:
    """One query: its state, what it got and what it asked for; `document` is all that the server says."""

    name: str
    state: str
    rows: int
    latency_s: float | None
    freshness: float | None
    memory_bytes: float
    waiting_rows: int
    verdict: str
    wishes: tuple[Wish, ...]
    failure: str = ""
    document: Mapping[str, Any] = field(default_factory=dict)

    @property
    def asked_for(self) -> str:
        """The wishes in a few words: `≤ 2 s, 95% fresh`."""
        forms = {"latency": "≤ {}", "memory": "≤ {}", "throughput": "≥ {}", "freshness": "{} fresh"}
        return ", ".join(
            forms.get(one.name, "{}").format(quantity_text(one.name, one.asked, exact=True))
            for one in self.wishes
        )

    @property
    def kept(self) -> str:
        """`spare`, `met`, `failed`, or which wishes are violated; nothing if it asked for nothing."""
        if self.failure or self.state == "failed":
            return "failed"
        violated = [one.name for one in self.wishes if one.verdict == "violated"]
        return f"violated: {', '.join(violated)}" if violated else self.verdict if self.wishes else ""

    @property
    def urgency(self) -> tuple[float, ...]:
        """By this, the smallest first, queries are sorted by what hurts."""
        violated = [one for one in self.wishes if one.verdict == "violated"]
        if self.state == "failed" or self.failure:
            rank = 0
        elif violated:
            rank = 1
        elif self.state in _STATES:
            rank = 2
        else:
            rank = 4 if self.state in ("ended", "scheduled", "stopped") else 3
        worst = max((one.overrun for one in violated or self.wishes), default=0.0)
        return (rank, -worst, -float(self.waiting_rows))

    def _repr_html_(self) -> str:
        facts = [
            ("state", verdict_html(self.state)),
            *(("asked for", verdict_html(one.verdict, str(one))) for one in self.wishes),
            ("rows", f"{self.rows:,}"),
            ("latency", "" if self.latency_s is None else rough_seconds(self.latency_s)),
            ("memory", shown_bytes(self.memory_bytes)),
            ("fresh", share_text(self.freshness)),
            ("waiting", f"{self.waiting_rows:,} rows" if self.waiting_rows else ""),
        ]
        columns = self.document.get("columns")
        if columns:
            facts.append(("columns", columns_text(columns)))
        if self.failure:
            facts.append(("failure", Html(tag("span", self.failure, "bad"))))
        sql = self.document.get("select") or self.document.get("sql")
        shown = tag("pre", sql) if sql else ""
        return document(
            tag("p", f"query {self.name}", "title"),
            shown,
            table(("", " "), [one for one in facts if one[1]], wide=(" ",)),
        )


@dataclass(frozen=True, slots=True)
class Moment:
    """What was seen of queries at one time: how many rows each had put out, and the latency."""

    at_s: float
    rows: Mapping[str, int]
    latencies_s: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Status:
    """How everything stands; `past` is what the client saw before, `document` all that the server says."""

    policy: str
    scheduling: str
    freshness: float | None
    queries: Mapping[str, QueryStatus]
    streams: Mapping[str, Mapping[str, Any]]
    problems: Mapping[str, str]
    document: Mapping[str, Any] = field(default_factory=dict, repr=False)
    past: tuple[Moment, ...] = field(default=(), repr=False)

    def rates(self, query: str) -> list[float | None]:
        """Rows per second that a query put out between each two looks at it."""
        found: list[float | None] = []
        for one, other in zip(self.past, self.past[1:], strict=False):
            if query not in one.rows or query not in other.rows:
                found.append(None)
            else:
                rows = max(0, other.rows[query] - one.rows[query])
                found.append(rows / max(other.at_s - one.at_s, 1e-9))
        return found

    def urgent_first(self) -> list[QueryStatus]:
        """The queries, by what hurts."""
        return sorted(self.queries.values(), key=lambda one: (*one.urgency, one.name))

    @property
    def headline(self) -> str:
        """Policy, how much there is, how fresh it is."""
        fresh = f", fresh {self.freshness:.0%}" if self.freshness is not None else ""
        streams = f"{len(self.streams)} stream{'s' * (len(self.streams) != 1)}"
        queries = f"{len(self.queries)} {'query' if len(self.queries) == 1 else 'queries'}"
        return f"policy {self.policy}, scheduling {self.scheduling}, {streams}, {queries}{fresh}"

    def __str__(self) -> str:
        lines = [self.headline, *(f"{name}: {why}" for name, why in self.problems.items())]
        lines += [f"{one.name}  {one.state}  {one.rows:,} rows  {one.kept}" for one in self.urgent_first()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        columns = (
            "query",
            "state",
            "rows",
            "rows/s",
            "",
            "latency",
            " ",
            "fresh",
            "waiting",
            "asked for",
            "kept",
        )
        rows = [self._row(one) for one in self.urgent_first()]
        streams = [
            (
                name,
                verdict_html(str(one.get("state", ""))),
                int(one.get("rows") or 0),
                int(one.get("late_rows") or 0),
                int(one.get("bad_rows") or 0),
                watermark_text(one),
            )
            for name, one in self.streams.items()
        ]
        failed = [tag("p", f"{one.name}: {one.failure}", "bad") for one in self.urgent_first() if one.failure]
        violated = [
            tag("p", f"{one.name}: {wish}", "pale")
            for one in self.urgent_first()
            for wish in one.wishes
            if wish.verdict == "violated"
        ]
        numbers = ("rows", "rows/s", "latency", "fresh", "waiting", "late", "bad")
        return document(
            tag("p", self.headline, "title"),
            *(tag("p", f"{name}: {why}", "bad") for name, why in self.problems.items()),
            table(columns, rows, numbers) if rows else "",
            *failed[:5],
            *violated[:5],
            table(("stream", "state", "rows", "late", "bad", "watermark"), streams, numbers)
            if streams
            else "",
        )

    def _row(self, one: QueryStatus) -> tuple[Any, ...]:
        rates = self.rates(one.name)
        latencies = [moment.latencies_s.get(one.name) for moment in self.past]
        limit = next((wish.asked for wish in one.wishes if wish.name == "latency"), None)
        rate = next((rate for rate in reversed(rates) if rate is not None), None)
        return (
            one.name,
            verdict_html(one.state),
            one.rows,
            "" if rate is None else rate_text(rate),
            sparkline(rates, title="rows per second") if len(rates) > 1 else "",
            "" if one.latency_s is None else rough_seconds(one.latency_s),
            sparkline(latencies, limit=limit, title="latency in seconds") if len(latencies) > 1 else "",
            share_text(one.freshness),
            f"{one.waiting_rows:,}" if one.waiting_rows else "",
            one.asked_for,
            verdict_html(one.kept.partition(":")[0], one.kept),
        )


def status_of(found: Mapping[str, Any], past: Sequence[Moment] = ()) -> Status:
    """A status from its JSON."""
    streams = named(found.get("streams") or {}, "streams")
    return Status(
        policy=str(found.get("policy") or ""),
        scheduling=str(found.get("scheduling") or ""),
        freshness=found.get("freshness"),
        queries={name: query_of(one) for name, one in named(found.get("queries") or {}, "queries").items()},
        streams=streams,
        problems=_problems(found),
        document=found,
        past=tuple(past),
    )


def query_of(found: Mapping[str, Any]) -> QueryStatus:
    """A query from its JSON."""
    wishes = tuple(
        Wish(
            str(one["wish"]),
            float(one["asked"]),
            None if one.get("measured") is None else float(one["measured"]),
            str(one["verdict"]),
            str(one.get("cause") or ""),
        )
        for one in found.get("wishes") or ()
        if isinstance(one, Mapping)
    )
    lately_s = next((one.measured for one in wishes if one.name == "latency"), None)
    return QueryStatus(
        name=str(found["name"]),
        state=str(found.get("state") or ""),
        rows=int(found.get("rows") or 0),
        latency_s=lately_s if lately_s is not None else found.get("mean_latency_s"),
        freshness=found.get("freshness"),
        memory_bytes=float(found.get("memory_bytes") or 0.0),
        waiting_rows=int(found.get("waiting_rows") or 0),
        verdict=str(found.get("verdict") or "unknown"),
        wishes=wishes,
        failure=str(found.get("failure") or ""),
        document=found,
    )


def _problems(found: Mapping[str, Any]) -> dict[str, str]:
    """What fails by itself and is tried again, by kind and name, and why."""
    if isinstance(found.get("problems"), Mapping):
        return {str(name): str(why) for name, why in found["problems"].items()}
    problems = {}
    for kind in ("stream", "table", "sink"):
        for name, one in named(found.get(f"{kind}s") or {}, f"{kind}s").items():
            failing = one.get("failing") or one.get("problem")
            if failing:
                why = failing.get("reason", "") if isinstance(failing, Mapping) else failing
                problems[f"{kind} {name}"] = str(why)
    return problems


def quantity_text(wish: str, value: float, *, exact: bool = False) -> str:
    """A wish's number for people."""
    match wish:
        case "latency":
            return shown_seconds(value) if exact else rough_seconds(value)
        case "memory":
            return shown_bytes(value)
        case "throughput":
            return f"{rate_text(value)}/s"
        case _:
            return share_text(value)


def share_text(share: float | None) -> str:
    """`97%`; nothing for None."""
    return "" if share is None else f"{share:.0%}"


def watermark_text(stream: Mapping[str, Any]) -> str:
    """How far a stream's time has come, in UTC; nothing before its first row."""
    at_s = stream.get("watermark_s")
    if at_s is None:
        return ""
    return datetime.fromtimestamp(at_s, UTC).isoformat(" ", "milliseconds").removesuffix("+00:00")


def verdict_html(word: str, text: str | None = None) -> Html:
    """A state or verdict in its colour."""
    return tag("span", word if text is None else text, _CLASSES.get(word, ""))
