"""Functions that cannot be used, group by group, each with the reason.

Penstock computes a result again from the log after a failure, on any machine, and expects the same rows; and
a query may read nothing but its streams.
"""

from __future__ import annotations

from penstock.sql.typing.functions.function import refused

REFUSED = (
    *refused(
        "rand randn random randstr uniform uuid shuffle",
        "draws at random, so that a repeated run would differ; use a column of the stream, "
        "or hash(column) for a choice that looks random",
    ),
    *refused(
        "kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float kll_merge_agg_bigint "
        "kll_merge_agg_double kll_merge_agg_float kll_sketch_merge_bigint kll_sketch_merge_double "
        "kll_sketch_merge_float",
        "draws at random which values to keep, so that a repeated run would differ; use percentile_approx",
    ),
    *refused(
        "monotonically_increasing_id spark_partition_id input_file_name input_file_block_start "
        "input_file_block_length",
        "depends on how the rows are spread over tasks and files; use a column of the stream",
    ),
    *refused(
        "current_user session_user user current_catalog current_database current_schema current_path "
        "current_timezone version",
        "depends on the session that runs the query, not on the stream; write the value out",
    ),
    *refused(
        "java_method reflect try_reflect",
        "calls Java code, which queries must not; use SQL functions",
    ),
    *refused(
        "from_protobuf to_protobuf",
        "reads a descriptor file and needs a library Spark does not come with; decode before the stream",
    ),
    *refused(
        "from_avro to_avro schema_of_avro",
        "needs a library Spark does not come with; decode before the stream",
    ),
    *refused(
        "explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple "
        "variant_explode variant_explode_outer",
        "puts out several rows for one, which is not supported; use functions of arrays, such as transform",
    ),
    *refused(
        "range collations python_worker_logs sql_keywords",
        "is a table, not a value; read from a stream",
    ),
    *refused(
        "row_number rank dense_rank percent_rank cume_dist ntile lag lead nth_value counter_diff",
        "needs OVER, which is not supported; use GROUP BY with a window, and max_by or min_by to pick a row",
    ),
    *refused(
        "grouping grouping_id",
        "belongs to GROUPING SETS, which are not supported; write one query for each grouping",
    ),
    *refused(
        "window session_window",
        "belongs into GROUP BY; group by it and select window.start and window.end",
    ),
    *refused("measure", "belongs to metric views, which are not supported; use an aggregate function"),
    *refused("collate", "gives a string with a collation, which is not supported; compare lower(column)"),
    *refused(
        "current_time localtime",
        "is about the type TIME, which Spark leaves switched off; write date_format(now(), 'HH:mm:ss')",
    ),
    *refused(
        "time make_time to_time try_to_time time_diff time_trunc time_from_seconds time_from_millis "
        "time_from_micros time_to_seconds time_to_millis time_to_micros",
        "is about the type TIME, which Spark leaves switched off; use timestamps",
    ),
    *refused(
        "timestamp_nanos unix_nanos",
        "is about timestamps with nanoseconds, which Spark leaves switched off; use microseconds",
    ),
)
