"""Calls of every function Penstock knows, over the columns of `SCHEMA`."""

from __future__ import annotations

from penstock.model.schema import Schema

SCHEMA = Schema.of(
    ti="tinyint",
    si="smallint",
    i="int",
    bi="bigint",
    f="float",
    d="double",
    dc="decimal(10,2)",
    dl="decimal(38,18)",
    s="string",
    b="boolean",
    dt="date",
    ts="timestamp",
    nt="timestamp_ntz",
    bn="binary",
    ai="array<int>",
    sa="array<string>",
    fa="array<float>",
    aa="array<array<int>>",
    ast="array<struct<a:int,b:string>>",
    m="map<string,int>",
    mi="map<int,double>",
    st="struct<a:int,b:string>",
    iv="interval day to second",
    ym="interval year to month",
    va="variant",
    nl="void",
    top="struct<sketch:binary,maxItemsTracked:int,itemDataType:string,itemDataTypeDDL:string>",
)

_NUMBERS = """
abs(i); abs(dc); abs(d); acos(d); acosh(d); asin(d); asinh(d); atan(d); atan2(d, i); atanh(d); bin(bi)
bit_count(i); bit_get(i, 0); getbit(bi, 1); bround(d, 1); bround(dc); cbrt(d); ceil(d); ceil(dc); ceil(i)
ceil(d, 1); ceil(dc, 1); ceiling(dl); conv(s, 16, 10); cos(d); cosh(d); cot(d); csc(d); degrees(d)
div(i, i); e(); exp(d); expm1(d); factorial(i); floor(d); floor(dc); floor(i, -1); floor(dc, 1)
greatest(i, d); greatest(dc, i); least(ti, bi); least(dt, ts); hex(i); hypot(d, d); isnan(d); ln(d); log(d)
log(d, d); log10(d); log1p(d); log2(d); mod(i, bi); mod(dc, dc); mod(d, i); nanvl(d, f); negative(i)
negative(dc); nullifzero(i); pi(); pmod(i, i); pmod(dc, i); positive(i); pow(i, i); power(d, i); radians(d)
rint(d); round(d); round(dc, 1); round(i, -1); round(dc); round(dl, 2); sec(d); shiftleft(i, 1)
shiftright(bi, 1); shiftrightunsigned(i, 2); sign(d); sign(i); signum(dc); sin(d); sinh(d); sqrt(d); tan(d)
tanh(d); try_add(i, bi); try_add(dt, i); try_divide(i, i); try_divide(dc, i); try_mod(i, i)
try_multiply(i, d); try_multiply(dc, dc); try_subtract(i, i); try_subtract(ts, ts); unhex(s)
width_bucket(d, 0D, 10D, 5); zeroifnull(i); zeroifnull(d); bitmap_bit_position(bi); bitmap_bucket_number(bi)
bitmap_count(bn)
"""
_STRINGS = """
ascii(s); base64(bn); unbase64(s); to_base32(bn); from_base32(s); bit_length(s); btrim(s); btrim(s, 'x')
char(bi); chr(i); char_length(s); character_length(bn); concat(s, s); concat(s, i); concat(ai, ai)
concat(bn, bn); concat_ws(',', s, sa); contains(s, 'x'); crc32(bn); decode(bn, 'UTF-8')
decode(i, 1, 'one', 'other'); elt(1, s, s); encode(s, 'UTF-8'); endswith(s, 'x'); find_in_set(s, 'a,b')
format_number(d, 2); format_number(i, '#.#'); format_string('%d %s', i, s); printf('%s', s); hex(s)
ilike(s, 'x%'); initcap(s); instr(s, 'x'); is_valid_utf8(s); jaro_winkler_similarity(s, s); lcase(s)
left(s, 2); len(s); length(s); length(bn); levenshtein(s, s); levenshtein(s, s, 3); like(s, 'x%')
locate('x', s); locate('x', s, 2); lower(s); lpad(s, 5); lpad(s, 5, 'x'); lpad(bn, 5); ltrim(s)
luhn_check(s); make_valid_utf8(s); mask(s); mask(s, 'X', 'x'); md5(bn); md5(s); hmac(s, s); octet_length(s)
overlay(s, 'x', 2); overlay(s, 'x', 2, 1); overlay(bn, bn, 2); parse_url(s, 'HOST')
parse_url(s, 'QUERY', 'q'); position('x', s); position('x', s, 2); quote(s); regexp(s, 'x')
regexp_count(s, 'x'); regexp_extract(s, '(x)'); regexp_extract(s, '(x)', 1); regexp_extract_all(s, '(x)', 1)
regexp_instr(s, 'x'); regexp_like(s, 'x'); regexp_replace(s, 'x', 'y'); regexp_replace(s, 'x', 'y', 2)
regexp_substr(s, 'x'); repeat(s, 2); replace(s, 'x'); replace(s, 'x', 'y'); reverse(s); reverse(ai)
right(s, 2); rlike(s, 'x'); rpad(s, 5, 'x'); rtrim(s); rpad(bn, 5); sentences(s); sentences(s, 'en', 'US')
sha(bn); sha1(s); sha2(s, 256); soundex(s); space(i); split(s, ','); split(s, ',', 2); split_part(s, ',', 1)
startswith(s, 'x'); startswith(bn, bn); substr(s, 1); substring(s, 1, 2); substring(bn, 1, 2)
substring_index(s, '.', 1); to_binary(s); to_binary(s, 'hex'); to_char(dc, '999'); to_char(ts, 'yyyy')
to_varchar(i, '999'); to_number(s, '99.9'); translate(s, 'x', 'y'); trim(s); trim(BOTH 'x' FROM s)
try_aes_decrypt(bn, bn); aes_decrypt(bn, bn); aes_encrypt(s, s, 'ECB')
aes_encrypt(s, s, 'GCM', 'DEFAULT', X'000102030405060708090A0B'); try_parse_url(s, 'HOST')
try_to_binary(s); try_to_number(s, '999'); try_url_decode(s); try_validate_utf8(s); ucase(s); upper(s)
url_decode(s); url_encode(s); validate_utf8(s); xpath(s, 'a/b'); xpath_boolean(s, 'a'); xpath_double(s, 'a')
xpath_float(s, 'a'); xpath_int(s, 'a'); xpath_long(s, 'a'); xpath_number(s, 'a'); xpath_short(s, 'a')
xpath_string(s, 'a'); collation(s); hash(s, i); xxhash64(s, i); str_to_map(s); str_to_map(s, ',', ':')
typeof(i)
"""
_CONVERSIONS = """
bigint(s); binary(s); boolean(s); date(s); decimal(s); double(s); float(s); int(s); smallint(s); string(i)
timestamp(s); tinyint(s)
"""
_CONDITIONS = """
assert_true(b); assert_true(b, 'no'); coalesce(i, bi); coalesce(nl, s); equal_null(i, i); ifnull(i, d)
isnotnull(s); isnull(s); nullif(i, bi); nvl(i, bi); nvl2(s, i, d); raise_error('no'); and(b, b)
or(b, b)
"""
_DATES = """
add_months(dt, 1); convert_timezone('UTC', 'Asia/Tokyo', nt); convert_timezone('UTC', nt); date_add(dt, i)
date_diff(dt, dt); date_format(ts, 'y'); date_from_unix_date(i); date_part('YEAR', dt)
date_part('SECOND', ts); date_part('DAY', iv); date_sub(dt, 1); date_trunc('HOUR', ts)
date_trunc('HOUR', nt); dateadd(dt, 1); datediff(dt, ts); datepart('MONTH', ts); day(dt); dayname(dt)
dayofmonth(dt); dayofweek(dt); dayofyear(dt); from_unixtime(bi); from_unixtime(bi, 'y')
from_utc_timestamp(ts, 'UTC'); hour(ts); last_day(dt); make_date(i, i, i); make_dt_interval()
make_dt_interval(1, 2, 3, dc); make_interval(1, 2); make_timestamp(i, i, i, i, i, d)
make_timestamp(i, i, i, i, i, d, 'UTC'); make_timestamp_ltz(i, i, i, i, i, d)
make_timestamp_ntz(i, i, i, i, i, d); make_ym_interval(1, 2); minute(ts); month(dt); monthname(dt)
months_between(ts, ts); months_between(ts, ts, false); next_day(dt, 'TU'); quarter(dt); second(ts)
timestamp_micros(bi); timestamp_millis(bi); timestamp_seconds(d); to_date(s); to_date(s, 'y')
to_timestamp(s); to_timestamp(s, 'y'); to_timestamp_ltz(s); to_timestamp_ntz(s); to_unix_timestamp(s)
to_unix_timestamp(ts); to_utc_timestamp(ts, 'UTC'); trunc(dt, 'YEAR'); try_make_interval(1)
try_make_timestamp(i, i, i, i, i, d); try_make_timestamp_ltz(i, i, i, i, i, d)
try_make_timestamp_ntz(i, i, i, i, i, d); try_to_date(s); try_to_timestamp(s); unix_date(dt)
unix_micros(ts); unix_millis(ts); unix_seconds(ts); unix_timestamp(ts); unix_timestamp(s, 'y'); weekday(dt)
weekofyear(dt); year(dt); time_bucket(INTERVAL '15' MINUTES, ts); current_date(); current_timestamp(); now()
curdate(); localtimestamp(); extract(YEAR FROM dt)
extract(SECOND FROM ts); extract(HOUR FROM iv); timestampadd(HOUR, 2, ts); timestampdiff(DAY, ts, ts)
dateadd(MONTH, 1, dt); datediff(DAY, ts, ts); date_add(DAY, 1, ts); date_diff(HOUR, ts, ts)
"""
_COLLECTIONS = """
array(); array(i, bi); array(s, 'x'); array_append(ai, i); array_append(ai, d); array_compact(ai)
array_contains(ai, i); array_distinct(ai); array_except(ai, ai); array_insert(ai, 1, i)
array_intersect(ai, ai); array_join(sa, ','); array_join(sa, ',', 'x'); array_max(ai); array_min(sa)
array_position(ai, 1); array_prepend(sa, s); array_remove(ai, 1); array_repeat(s, 2); array_size(ai)
array_sort(ai); array_sort(ai, (l, r) -> r - l); array_union(ai, ai); arrays_overlap(ai, ai)
arrays_zip(ai, sa); cardinality(m); element_at(ai, 1); element_at(m, 'x'); exists(ai, x -> x > 1)
filter(ai, x -> x > 1); filter(ai, (x, n) -> x > n); flatten(aa); forall(ai, x -> x > 1); get(ai, 0)
aggregate(ai, 0, (acc, x) -> acc + x); aggregate(ai, 0, (acc, x) -> acc + x, acc -> string(acc))
reduce(ai, 0D, (acc, x) -> acc + x); map(); map('a', 1); map(s, i, 'b', bi); map_concat(m, m)
map_contains_key(m, 'x'); map_entries(m); map_filter(m, (k, v) -> v > 1); map_from_arrays(sa, ai)
map_from_entries(ast); map_keys(m); map_values(m); map_zip_with(m, m, (k, v, o) -> v + o)
named_struct('a', 1, 'b', s); sequence(i, i); sequence(dt, dt); sequence(ts, ts, INTERVAL '1' HOUR)
size(ai); size(m); slice(ai, 1, 2); sort_array(ai); sort_array(sa, false); struct(i, s)
struct(i AS x, 1, st.a, upper(s)); transform(ai, x -> x + 1); transform(ai, (x, n) -> string(n))
transform(sa, x -> upper(x)); transform_values(m, (k, v) -> k); map_zip_with(m, m, (k, v, o) -> k)
aggregate(sa, '', (acc, x) -> concat(acc, x)); reduce(sa, '', (acc, x) -> x)
transform_keys(m, (k, v) -> upper(k)); transform_values(m, (k, v) -> v + 0.5); try_element_at(ai, 1)
try_element_at(m, 'x'); zip_with(ai, sa, (x, y) -> concat(x, y))
"""
_FORMATS = """
from_csv(s, 'a INT, b DOUBLE'); from_json(s, 'a INT, b ARRAY<STRING>'); from_json(s, 'ARRAY<INT>')
from_json(s, 'a INT', map('mode', 'FAILFAST')); from_xml(s, 'a INT'); get_json_object(s, '$.a')
json_array_length(s); json_object_keys(s); schema_of_csv('1,a'); schema_of_json('[1]')
schema_of_xml('<a>1</a>'); to_csv(st); to_json(st); to_json(m); to_xml(st); parse_json(s); try_parse_json(s)
is_variant_null(va); is_valid_variant(va); schema_of_variant(va); to_variant_object(st)
variant_get(va, '$.a', 'int'); variant_get(va, '$.a'); try_variant_get(va, '$.a', 'string')
variant_array_append(va, '$', 4); variant_delete(va, '$.a'); variant_insert(va, '$.b', 2)
variant_set(va, '$.a', 2); variant_strip_nulls(va); try_variant_array_append(va, '$', 4)
try_variant_insert(va, '$.b', 2); try_variant_set(va, '$.a', 2); st_asbinary(st_geogfromwkb(bn))
st_geogfromwkb(bn); st_geomfromwkb(bn); st_setsrid(st_geogfromwkb(bn), 4326); st_srid(st_geogfromwkb(bn))
vector_cosine_similarity(fa, fa); vector_inner_product(fa, fa); vector_l2_distance(fa, fa); vector_norm(fa)
vector_norm(fa, 2.0F); vector_normalize(fa)
"""
_AGGREGATES = """
any(b); any_value(s); any_value(s, true); approx_count_distinct(s); approx_count_distinct(s, 0.05)
approx_percentile(d, 0.5); approx_percentile(i, array(0.5, 0.9), 100); approx_top_k(s); approx_top_k(i, 5)
array_agg(i); avg(i); avg(dc); avg(iv); avg(ym); bit_and(i); bit_or(bi); bit_xor(si); bitmap_and_agg(bn)
bitmap_construct_agg(bi); bitmap_or_agg(bn); bool_and(b); bool_or(b); collect_list(s); collect_set(s)
collect_union(ai); corr(d, d); count(*); count(s); count(DISTINCT s, i); count_if(b)
count_min_sketch(s, 0.5D, 0.5D, 1); covar_pop(d, i); covar_samp(d, d); every(b); first(s); first(s, true)
first(s) IGNORE NULLS; first_value(i); histogram_numeric(i, 5); histogram_numeric(d, 5); kurtosis(d)
last(s); last_value(i) RESPECT NULLS; listagg(s); listagg(s, ','); listagg(DISTINCT s)
listagg(s, ',') WITHIN GROUP (ORDER BY i); string_agg(s, ','); max(s); max(ts); max_by(s, i)
max_by(s, i, 3); mean(d); median(i); median(iv); min(dt); min_by(i, ts); mode(s)
mode() WITHIN GROUP (ORDER BY s); percentile(d, 0.5); percentile(i, array(0.5, 0.9)); percentile(d, 0.5, 2)
percentile_approx(dc, 0.5); percentile_cont(0.5) WITHIN GROUP (ORDER BY d)
percentile_disc(0.5) WITHIN GROUP (ORDER BY i DESC); regr_avgx(d, d); regr_avgy(d, i); regr_count(d, d)
regr_intercept(d, d); regr_r2(d, d); regr_slope(d, d); regr_sxx(d, d); regr_sxy(d, d); regr_syy(d, d)
schema_of_variant_agg(va); skewness(d); some(b); std(d); stddev(i); stddev_pop(d); stddev_samp(d); sum(i)
sum(d); sum(dc); sum(f); sum(iv); sum(DISTINCT i); sum(i) FILTER (WHERE b); try_avg(i); try_sum(dc)
try_sum(i); var_pop(d); var_samp(d); variance(d); vector_avg(fa); vector_sum(fa)
"""
_SKETCHES = """
approx_top_k_accumulate(s); approx_top_k_combine(top)
approx_top_k_estimate(approx_top_k_accumulate(s)); hll_sketch_agg(i); hll_sketch_agg(s, 12)
hll_sketch_estimate(bn); hll_union(bn, bn); hll_union(bn, bn, true); hll_union_agg(bn)
hll_union_agg(bn, true); theta_difference(bn, bn); theta_intersection(bn, bn); theta_intersection_agg(bn)
theta_sketch_agg(i); theta_sketch_agg(s, 12); theta_sketch_estimate(bn); theta_union(bn, bn)
theta_union(bn, bn, 12); theta_union_agg(bn); theta_union_agg(bn, 12)
kll_sketch_get_n_bigint(bn); kll_sketch_get_n_double(bn)
kll_sketch_get_n_float(bn); kll_sketch_get_quantile_bigint(bn, 0.5); kll_sketch_get_quantile_double(bn, 0.5)
kll_sketch_get_quantile_float(bn, array(0.5, 0.9)); kll_sketch_get_rank_bigint(bn, 3)
kll_sketch_get_rank_double(bn, 3D); kll_sketch_get_rank_float(bn, 3F); kll_sketch_to_string_bigint(bn)
kll_sketch_to_string_double(bn); kll_sketch_to_string_float(bn)
"""
_TUPLE_SKETCHES = """
tuple_sketch_agg_K(i, 1); tuple_difference_K(bn, bn)
tuple_difference_theta_K(bn, bn); tuple_intersection_agg_K(bn)
tuple_intersection_K(bn, bn); tuple_intersection_theta_K(bn, bn); tuple_sketch_estimate_K(bn)
tuple_sketch_summary_K(bn); tuple_sketch_theta_K(bn); tuple_union_agg_K(bn); tuple_union_K(bn, bn)
tuple_union_theta_K(bn, bn)
"""


def _calls(*tables: str) -> tuple[str, ...]:
    lines = (line for table in tables for line in table.strip().splitlines())
    return tuple(call.strip() for line in lines for call in line.split(";"))


#: Spark checks that `window_time` is given what `window` made, so it is typed over that.
WINDOW_TIME = "window_time(window)"

SCALARS = _calls(_NUMBERS, _STRINGS, _CONVERSIONS, _CONDITIONS, _DATES, _COLLECTIONS, _FORMATS)
AGGREGATES = _calls(_AGGREGATES, _SKETCHES) + tuple(
    call.replace("_K", f"_{kind}") for kind in ("double", "integer") for call in _calls(_TUPLE_SKETCHES)
)
