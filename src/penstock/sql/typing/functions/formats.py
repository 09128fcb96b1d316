"""Functions of JSON, CSV, XML, variants, vectors and shapes."""

from __future__ import annotations

from sqlglot import exp

from penstock.errors import closest
from penstock.sql.typing.functions.function import Call, Refusal, Rule, fixed, scalar
from penstock.sql.typing.functions.rules import literal_text, same, schema_argument, whole_number
from penstock.sql.typing.types import VARIANT, Array, Atomic, Map, Struct, Type, parse

_OPTIONS = "map<string,string>"
#: Of XML, the options that reach nothing; `rowValidationXSDPath` would read a file, and what that one names.
_XML_OPTIONS = (
    *("arrayElementName", "attributePrefix", "columnNameOfCorruptRecord", "dateFormat", "declaration"),
    *("encoding", "excludeAttribute", "ignoreNamespace", "ignoreSurroundingSpaces", "inferSchema", "locale"),
    *("mode", "nullValue", "prefersDecimal", "rootTag", "rowTag", "samplingRatio", "singleVariantColumn"),
    *("timeZone", "timestampFormat", "timestampNTZFormat", "valueTag", "wildcardColName"),
)
_KNOWN = frozenset(name.lower() for name in _XML_OPTIONS)


def _variant_get(call: Call) -> Type:
    if len(call.trees) < 3:
        return VARIANT
    text = literal_text(call.trees[2])
    if text is None:
        raise Refusal(f"the type of {call.name} must be a string written out, such as 'int'")
    try:
        return parse(text)
    except ValueError as error:
        raise Refusal(f"the type of {call.name} cannot be read ({error}); write one such as 'int'") from None


def _geometry(call: Call) -> Type:
    place = whole_number(call.trees[1]) if len(call.trees) > 1 else 0
    return Atomic(f"geometry({'any' if place is None else place})")


def _placed(call: Call) -> Type:
    place = whole_number(call.trees[1])
    return Atomic(f"{str(call.types[0]).partition('(')[0]}({'any' if place is None else place})")


def _xml_options(rule: Rule) -> Rule:
    """What the rule says, if the options, which are the last argument, reach nothing."""

    def checked(call: Call) -> Type:
        last = len(call.trees) - 1
        if isinstance(call.types[last], Map):
            _check_xml_options(call, last)
        return rule(call)

    return checked


def _check_xml_options(call: Call, place: int) -> None:
    tree = call.trees[place]
    written = isinstance(tree, exp.Anonymous) and tree.name.lower() == "map"
    names = [literal_text(one) for one in tree.expressions[::2]] if written else [None]
    for name in names:
        if name is None:
            raise Refusal(
                f"the options of {call.name} must be written out, such as map('mode', 'FAILFAST')", place
            )
        if name.lower() not in _KNOWN:
            near = closest(name, _XML_OPTIONS) or f" There are {', '.join(_XML_OPTIONS)}."
            raise Refusal(f"{call.name} has no option '{name}' here.{near}", place)


def _from_csv(call: Call) -> Type:
    found = schema_argument(call)
    if not isinstance(found, Struct):
        raise Refusal(f"the schema of {call.name} must name columns, such as 'a INT, b STRING'", 1)
    for name, type_ in found.fields:
        if isinstance(type_, Array | Map | Struct):
            raise Refusal(f"CSV has no {type_} for '{name}'; read it as STRING, and take that apart", 1)
    return found


def _from_document(call: Call) -> Type:
    found = schema_argument(call)
    kinds = (Struct,) if call.name == "from_xml" else (Struct, Array, Map)
    if not isinstance(found, kinds) and found != VARIANT:
        raise Refusal(f"the schema of {call.name} must name columns, such as 'a INT, b STRING'", 1)
    return found


FORMATS = (
    *scalar("from_csv", f"string! string! {_OPTIONS}?", _from_csv, constants=(1, 2)),
    *scalar("from_json", f"string! string! {_OPTIONS}?", _from_document, constants=(1, 2)),
    *scalar("from_xml", f"string! string! {_OPTIONS}?", _xml_options(_from_document), constants=(1, 2)),
    *scalar("to_csv", f"struct! {_OPTIONS}?", "string", constants=(1,)),
    *scalar("to_json", f"struct|array|map|variant! {_OPTIONS}?", "string", constants=(1,)),
    *scalar("to_xml", f"struct|variant! {_OPTIONS}?", _xml_options(fixed("string")), constants=(1,)),
    *scalar("schema_of_csv schema_of_json", f"string! {_OPTIONS}?", "string", constants=(0, 1)),
    *scalar("schema_of_xml", f"string! {_OPTIONS}?", _xml_options(fixed("string")), constants=(0, 1)),
    *scalar("get_json_object", "string! string!", "string", raises=False),
    *scalar("json_array_length", "string!", "int", raises=False),
    *scalar("json_object_keys", "string!", "array<string>", raises=False),
    *scalar("parse_json", "string!", "variant"),
    *scalar("try_parse_json", "string!", "variant", raises=False),
    *scalar("is_variant_null is_valid_variant", "variant!", "boolean"),
    *scalar("schema_of_variant", "variant!", "string"),
    *scalar("to_variant_object", "struct|array|map!!", "variant"),
    *scalar("variant_get try_variant_get", "variant! string! string?", _variant_get, constants=(2,)),
    *scalar("variant_array_append try_variant_array_append", "variant! string! variable", "variant"),
    *scalar("variant_insert try_variant_insert", "variant! string! variable", "variant"),
    *scalar("variant_set try_variant_set", "variant! string! variable boolean?", "variant"),
    *scalar("variant_delete", "variant! string! string!*", "variant"),
    *scalar("variant_strip_nulls", "variant! boolean?", "variant"),
    *scalar("st_asbinary", "geo! string?", "binary"),
    *scalar("st_geogfromwkb", "binary", "geography(4326)"),
    *scalar("st_geomfromwkb", "binary int?", _geometry),
    *scalar("st_setsrid", "geo! int", _placed),
    *scalar("st_srid", "geo!", "int"),
    *scalar(
        "vector_cosine_similarity vector_inner_product vector_l2_distance",
        "array<float>!! array<float>!!",
        "float",
    ),
    *scalar("vector_norm", "array<float>!! float!!?", "float"),
    *scalar("vector_normalize", "array<float>!! float!!?", same()),
)
