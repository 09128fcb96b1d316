"""Functions of other systems, and what stands for them here."""

from __future__ import annotations

from collections.abc import Mapping

_BOUNDS = "write window.start or window.end, with window(time, '1 minute') in GROUP BY"
_JSON = "write get_json_object(value, '$.field'), or from_json(value, 'field TYPE')"

#: Each ends a sentence that says there is no such function.
ELSEWHERE: Mapping[str, str] = {
    "tumble": "write window(time, '1 minute') in GROUP BY",
    "hop": "write window(time, '1 minute', '10 seconds') in GROUP BY, the width first",
    "session": "write session_window(time, '5 minutes') in GROUP BY",
    "cumulate": "write one query for each width, with window(time, '1 hour') in GROUP BY",
    **dict.fromkeys(
        (
            f"{window}_{bound}"
            for window in ("tumble", "hop", "session")
            for bound in ("start", "end", "rowtime")
        ),
        _BOUNDS,
    ),
    "proctime": "write now(), the time at which a row was taken in",
    "current_watermark": "a window closes by itself when the watermark has passed it",
    "latest_by_offset": "write last(value)",
    "earliest_by_offset": "write first(value)",
    "topk": "write slice(sort_array(collect_list(value), false), 1, 3)",
    "as_value": "leave it out",
    "count_distinct": "write count(DISTINCT value)",
    "approx_distinct": "write approx_count_distinct(value)",
    "group_concat": "write listagg(value, ',')",
    "unnest": "use functions of arrays, such as transform; several rows of one are not supported",
    "generate_series": "write sequence(start, stop)",
    "array_length": "write size(array)",
    "string_to_array": "write split(value, ',')",
    "strpos": "write instr(value, 'part')",
    "json_value": _JSON,
    "json_query": _JSON,
    "json_extract": _JSON,
    "json_extract_scalar": _JSON,
    "json_extract_path_text": _JSON,
    "extractjsonfield": _JSON,
    "date_bin": "write time_bucket(INTERVAL '15' MINUTES, time)",
    "age": "write timestampdiff(SECOND, start, end)",
    "timestamptostring": "write date_format(time, 'yyyy-MM-dd HH:mm:ss')",
    "strftime": "write date_format(time, 'yyyy-MM-dd HH:mm:ss')",
    "stringtotimestamp": "write to_timestamp(value, 'yyyy-MM-dd HH:mm:ss')",
    "parse_timestamp": "write to_timestamp(value, 'yyyy-MM-dd HH:mm:ss')",
    "regexp_matches": "write regexp_extract_all(value, 'pattern')",
    "safe_cast": "write TRY_CAST(value AS TYPE)",
    "safe_divide": "write try_divide(a, b)",
    "convert": "write CAST(value AS TYPE)",
    "iif": "write if(condition, a, b)",
    "gen_random_uuid": "it would draw at random; use a column of the stream",
    "getdate": "write now()",
    "sysdate": "write now()",
    "systimestamp": "write now()",
    "clock_timestamp": "write now()",
}
