"""Functions of strings and binaries."""

from __future__ import annotations

from penstock.sql.functions.function import Call, scalar
from penstock.sql.functions.rules import common_from, concatenated, number_format, string_or_binary
from penstock.sql.types import STRING, Type


def _decoded(call: Call) -> Type:
    """A binary in some charset, or Oracle's search through pairs."""
    if len(call.types) == 2:
        return STRING
    results = call.types[2::2] if len(call.types) % 2 else (*call.types[2::2], call.types[-1])
    trees = call.trees[: len(results)]
    return common_from(0)(Call(call.name, results, trees))


STRINGS = (
    *scalar("ucase upper lcase lower initcap soundex quote", "string", "string", raises=False),
    *scalar("make_valid_utf8 try_validate_utf8", "string", "string", raises=False),
    *scalar("validate_utf8 url_decode", "string", "string"),
    *scalar("url_encode try_url_decode", "string", "string", raises=False),
    *scalar("ascii", "string", "int", raises=False),
    *scalar("is_valid_utf8 luhn_check", "string", "boolean", raises=False),
    *scalar("char chr", "bigint", "string", raises=False),
    *scalar("space", "int", "string", raises=False),
    *scalar(
        "length len char_length character_length bit_length octet_length",
        "string|binary",
        "int",
        raises=False,
    ),
    *scalar("base64 to_base32", "binary", "string", raises=False),
    *scalar("unbase64 from_base32", "string", "binary"),
    *scalar("crc32", "binary", "bigint", raises=False),
    *scalar("md5 sha sha1", "binary", "string", raises=False),
    *scalar("sha2", "binary int", "string", raises=False),
    *scalar("hmac", "binary binary string?", "binary"),
    *scalar("hash", "any any*", "int", raises=False),
    *scalar("xxhash64", "any any*", "bigint", raises=False),
    *scalar("trim btrim ltrim rtrim", "string string?", "string", raises=False),
    *scalar("concat", "any*", concatenated, raises=False),
    *scalar("concat_ws", "string string|array<string>*", "string", raises=False),
    *scalar("contains startswith endswith", "string|binary string|binary", "boolean", raises=False),
    *scalar("like ilike", "string string string?", "boolean", constants=(2,)),
    *scalar("regexp regexp_like rlike", "string string", "boolean"),
    *scalar("regexp_count regexp_instr", "string string int?", "int"),
    *scalar("regexp_extract", "string string int?", "string"),
    *scalar("regexp_extract_all", "string string int?", "array<string>"),
    *scalar("regexp_replace", "string string string int?", "string", constants=(3,)),
    *scalar("regexp_substr", "string string", "string"),
    *scalar("instr", "string string int? int?", "int"),
    *scalar("locate position", "string string int?", "int", raises=False),
    *scalar("find_in_set", "string string", "int", raises=False),
    *scalar("left right", "string|binary int", string_or_binary(), raises=False),
    *scalar("lpad rpad", "string|binary int string|binary?", string_or_binary(), raises=False),
    *scalar("substr substring", "string|binary int int?", string_or_binary(), raises=False),
    *scalar("substring_index", "string string int", "string", raises=False),
    *scalar("overlay", "string|binary string|binary int int?", string_or_binary(), raises=False),
    *scalar("repeat", "string int", "string"),
    *scalar("replace translate", "string string string?", "string", raises=False),
    *scalar("split", "string string int?", "array<string>"),
    *scalar("split_part", "string string int", "string"),
    *scalar("mask", "string string? string? string? string?", "string", constants=(1, 2, 3, 4)),
    *scalar("levenshtein", "string string int?", "int", raises=False),
    *scalar("jaro_winkler_similarity", "string string", "double", raises=False),
    *scalar("sentences", "string string? string?", "array<array<string>>", raises=False),
    *scalar("format_string printf", "string any*", "string"),
    *scalar("format_number", "numeric int|string", "string"),
    *scalar("encode", "string string", "binary"),
    *scalar("decode", "any any any*", _decoded),
    *scalar("elt", "int string|binary string|binary*", string_or_binary(1)),
    *scalar("to_binary", "string string?", "binary", constants=(1,)),
    *scalar("try_to_binary", "string string?", "binary", constants=(1,)),
    *scalar("to_char to_varchar", "numeric|date|timestamps|binary string", "string", constants=(1,)),
    *scalar("to_number try_to_number", "string string", number_format, constants=(1,)),
    *scalar("parse_url try_parse_url", "string string string?", "string"),
    *scalar("aes_encrypt", "binary binary string? string? binary? binary?", "binary"),
    *scalar("aes_decrypt try_aes_decrypt", "binary binary string? string? binary?", "binary"),
    *scalar("str_to_map", "string string? string?", "map<string,string>"),
    *scalar("collation", "string", "string", raises=False),
    *scalar("typeof", "any", "string", raises=False),
    *scalar("xpath", "string string", "array<string>", constants=(1,)),
    *scalar("xpath_boolean", "string string", "boolean", constants=(1,)),
    *scalar("xpath_double xpath_number", "string string", "double", constants=(1,)),
    *scalar("xpath_float", "string string", "float", constants=(1,)),
    *scalar("xpath_int", "string string", "int", constants=(1,)),
    *scalar("xpath_long", "string string", "bigint", constants=(1,)),
    *scalar("xpath_short", "string string", "smallint", constants=(1,)),
    *scalar("xpath_string", "string string", "string", constants=(1,)),
)
