"""Functions of strings and binaries."""

from __future__ import annotations

from sqlglot import exp

from penstock.sql.typing.casts import implicit
from penstock.sql.typing.functions.function import Call, Refusal, scalar
from penstock.sql.typing.functions.patterns import numbered, to_binary, to_characters
from penstock.sql.typing.functions.rules import (
    common_from,
    concatenated,
    literal_text,
    number_format,
    string_or_binary,
)
from penstock.sql.typing.types import BINARY, STRING, Type, common, comparable


def _decoded(call: Call) -> Type:
    """A binary in some charset, or Oracle's search through pairs."""
    if len(call.types) == 2:
        if not (implicit(call.types[0], BINARY) and implicit(call.types[1], STRING)):
            raise Refusal(
                f"{call.name} takes a binary and a charset, not {call.types[0]} and {call.types[1]}"
            )
        return STRING
    for sought in call.types[1:-1:2]:
        wide = common(call.types[0], sought)
        if wide is None or not comparable(wide):
            raise Refusal(f"{call.name} cannot compare {call.types[0]} with {sought}; cast them to one type")
    results = call.types[2::2] if len(call.types) % 2 else (*call.types[2::2], call.types[-1])
    return common_from(0)(Call(call.name, results, call.trees))


def _padded(call: Call) -> Type:
    """Binary only if both the value and the padding are."""
    return BINARY if all(type_ == BINARY for type_ in (call.types[0], *call.types[2:])) else STRING


def _overlaid(call: Call) -> Type:
    if (call.types[0] == BINARY) != (call.types[1] == BINARY):
        raise Refusal(f"{call.name} cannot put {call.types[1]} into {call.types[0]}; cast both to string")
    return call.types[0]


def _picked(call: Call) -> Type:
    return BINARY if all(type_ == BINARY for type_ in call.types[1:]) else STRING


def _encrypted(call: Call) -> Type:
    """Without an initialization vector, or with an empty one, Spark draws one at random."""
    mode = literal_text(call.trees[2]) if len(call.trees) > 2 else "GCM"
    if mode is not None and mode.upper() == "ECB":
        return BINARY
    if len(call.trees) < 5:
        raise Refusal(
            f"{call.name} without an initialization vector draws one at random, so that a repeated run would "
            "differ; give it as argument 5, behind mode and padding: aes_encrypt(value, key, 'GCM', "
            "'DEFAULT', vector)"
        )
    if not _never_empty(call.trees[4]):
        raise Refusal(
            f"where the initialization vector of {call.name} is empty, it draws one at random; "
            "write nullif(vector, '')",
            4,
        )
    return BINARY


def _never_empty(tree: exp.Expr) -> bool:
    if isinstance(tree, exp.HexString):
        return bool(tree.this)
    text = literal_text(tree)
    if text is not None:
        return text != ""
    return (
        isinstance(tree, exp.Anonymous)
        and tree.name.lower() == "nullif"
        and len(tree.expressions) == 2
        and literal_text(tree.expressions[1]) == ""
    )


STRINGS = (
    *scalar("ucase upper lcase lower initcap quote", "string", "string", raises=False),
    *scalar("make_valid_utf8 try_validate_utf8", "string", "string", raises=False),
    *scalar("validate_utf8 url_decode", "string", "string"),
    *scalar("url_encode try_url_decode", "string", "string", raises=False),
    *scalar("soundex", "string!", "string", raises=False),
    *scalar("ascii", "string", "int", raises=False),
    *scalar("is_valid_utf8 luhn_check", "string", "boolean", raises=False),
    *scalar("char chr", "bigint", "string", raises=False),
    *scalar("space", "int", "string"),
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
    *scalar("hash", "hashable hashable*", "int", raises=False),
    *scalar("xxhash64", "hashable hashable*", "bigint", raises=False),
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
    *scalar("left", "string|binary int", string_or_binary, raises=False),
    *scalar("right", "string int", "string", raises=False),
    *scalar("lpad rpad", "string|binary int string|binary?", _padded),
    *scalar("substr substring", "string|binary int int?", string_or_binary, raises=False),
    *scalar("substring_index", "string string int", "string", raises=False),
    *scalar("overlay", "string|binary string|binary int int?", _overlaid, raises=False),
    *scalar("repeat", "string int", "string"),
    *scalar("replace translate", "string string string?", "string", raises=False),
    *scalar("split", "string string int?", "array<string>"),
    *scalar("split_part", "string string int", "string"),
    *scalar("mask", "string! string? string? string? string?", "string", constants=(1, 2, 3, 4)),
    *scalar("levenshtein", "string string int?", "int", raises=False),
    *scalar("jaro_winkler_similarity", "string string", "double", raises=False),
    *scalar("sentences", "string string? string?", "array<array<string>>", raises=False),
    *scalar("format_string printf", "string any*", "string"),
    *scalar("format_number", "numeric! int|string!", "string"),
    *scalar("encode", "string string", "binary"),
    *scalar("decode", "any any any*", _decoded),
    *scalar("elt", "int string|binary string|binary*", _picked),
    *scalar("to_binary", "string string?", to_binary, constants=(1,)),
    *scalar("try_to_binary", "string string?", to_binary, constants=(1,)),
    *scalar("to_char to_varchar", "numeric|date|timestamps|binary string", to_characters, constants=(1,)),
    *scalar("to_number try_to_number", "string string", numbered(number_format), constants=(1,)),
    *scalar("parse_url try_parse_url", "string! string! string!?", "string"),
    *scalar("aes_encrypt", "binary binary string? string? binary? binary?", _encrypted),
    *scalar("aes_decrypt try_aes_decrypt", "binary binary string? string? binary?", "binary"),
    *scalar("str_to_map", "string! string!? string!?", "map<string,string>"),
    *scalar("collation", "string!", "string", raises=False),
    *scalar("typeof", "any", "string", raises=False),
    *scalar("xpath", "string! string!", "array<string>", constants=(1,)),
    *scalar("xpath_boolean", "string! string!", "boolean", constants=(1,)),
    *scalar("xpath_double xpath_number", "string! string!", "double", constants=(1,)),
    *scalar("xpath_float", "string! string!", "float", constants=(1,)),
    *scalar("xpath_int", "string! string!", "int", constants=(1,)),
    *scalar("xpath_long", "string! string!", "bigint", constants=(1,)),
    *scalar("xpath_short", "string! string!", "smallint", constants=(1,)),
    *scalar("xpath_string", "string! string!", "string", constants=(1,)),
)
