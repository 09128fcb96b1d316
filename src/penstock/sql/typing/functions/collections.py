"""Functions of arrays, maps and structs, with lambdas or without."""

from __future__ import annotations

from sqlglot import exp

from penstock.sql.typing.functions.function import Call, Refusal, scalar
from penstock.sql.typing.functions.rules import common_type, element, entries, literal_text, same
from penstock.sql.typing.types import (
    BIGINT,
    BOOLEAN,
    INT,
    SMALLINT,
    STRING,
    TINYINT,
    VARIANT,
    VOID,
    Array,
    Map,
    Struct,
    Type,
    common_of,
    orderable,
    tightest,
    without_strings,
)


def _element(type_: Type) -> Type:
    return type_.element if isinstance(type_, Array) else VOID


def _widened(call: Call, value: int) -> Array:
    array = call.types[0]
    wide = tightest(_element(array), call.types[value])
    if wide is None or not isinstance(array, Array):
        raise Refusal(
            f"{call.name} cannot put {call.types[value]} with the elements of {array}; cast one of them"
        )
    return Array(wide)


def _appended(call: Call) -> Type:
    return _widened(call, 1)


def _inserted(call: Call) -> Type:
    return _widened(call, 2)


def _contains(call: Call) -> Type:
    wide = without_strings(_element(call.types[0]), call.types[1])
    if wide is None or not orderable(wide) or VOID in (call.types[1], _element(call.types[0])):
        raise Refusal(f"{call.name} cannot compare {call.types[1]} with the elements of {call.types[0]}")
    return BOOLEAN


def _position(call: Call) -> Type:
    _sought(call)
    return BIGINT


def _removed(call: Call) -> Type:
    _sought(call)
    return _widened(call, 1)


def _sought(call: Call) -> None:
    wide = _widened(call, 1).element
    if not orderable(wide) or VOID in (call.types[1], _element(call.types[0])):
        raise Refusal(f"{call.name} cannot compare {call.types[1]} with the elements of {call.types[0]}")


def _same_arrays(call: Call) -> Type:
    found = tightest(*call.types)
    if not isinstance(found, Array) or not orderable(found.element):
        listed = " and ".join(str(type_) for type_ in call.types)
        raise Refusal(f"{call.name} cannot compare the elements of {listed}; cast them to one type")
    return found


def _overlap(call: Call) -> Type:
    _same_arrays(call)
    return BOOLEAN


def _array(call: Call) -> Type:
    return Array(common_type(call))


def _extreme(call: Call) -> Type:
    if not orderable(call.types[0]):
        raise Refusal(f"{call.name} needs elements that can be ordered, and those of {call.types[0]} cannot")
    return _element(call.types[0])


def _sorted(call: Call) -> Type:
    if len(call.types) == 1 or call.types[1] == BOOLEAN:
        _extreme(call)
    return call.types[0]


def _flattened(call: Call) -> Type:
    inner = _element(call.types[0])
    if not isinstance(inner, Array):
        raise Refusal(f"{call.name} takes an array of arrays, not {call.types[0]}")
    return inner


def _element_at(call: Call) -> Type:
    container, key = call.types
    match container:
        case Map(wanted, value):
            if tightest(wanted, key) is None:
                raise Refusal(f"the keys of {container} are not {key}; cast the key to {wanted}")
            return value
        case Array(inner):
            if key not in (TINYINT, SMALLINT, INT):
                raise Refusal(f"an element is picked by an int, not by {key}; cast the index to int")
            return inner
        case _:
            raise Refusal(f"{call.name} takes an array or a map, not {container}")


def _zipped(call: Call) -> Type:
    return Array(
        Struct(
            tuple(
                (field_name(tree) or str(place), _element(type_))
                for place, (tree, type_) in enumerate(zip(call.trees, call.types, strict=True))
            )
        )
    )


def field_name(tree: exp.Expr) -> str | None:
    """What Spark calls a value inside a struct."""
    if isinstance(tree, exp.Alias):
        return tree.alias
    if isinstance(tree, exp.Column | exp.Identifier):
        return tree.name
    return str(tree.expression.name) if isinstance(tree, exp.Dot) else None


def _struct(call: Call) -> Type:
    return Struct(
        tuple(
            (field_name(tree) or f"col{place}", type_)
            for place, (tree, type_) in enumerate(zip(call.trees, call.types, strict=True), 1)
        )
    )


def _named_struct(call: Call) -> Type:
    if len(call.types) % 2:
        raise Refusal(f"{call.name} takes names and values in turn; the last name has no value")
    names = [literal_text(tree) for tree in call.trees[::2]]
    if None in names:
        raise Refusal(f"the names of {call.name} must be strings written out")
    return Struct(tuple(zip([str(name) for name in names], call.types[1::2], strict=True)))


def _map(call: Call) -> Type:
    if len(call.types) % 2:
        raise Refusal(f"{call.name} takes keys and values in turn; the last key has no value")
    key, value = common_of(call.types[::2]), common_of(call.types[1::2])
    if key is None or value is None:
        raise Refusal(f"the keys or the values of {call.name} have no common type; cast them to one type")
    return _checked_key(call, key, value)


def _checked_key(call: Call, key: Type, value: Type) -> Map:
    if _holds_map(key) or key == VARIANT:
        raise Refusal(f"a key of {call.name} cannot be a map or a variant; take a string or a number")
    return Map(key, value)


def _holds_map(type_: Type) -> bool:
    match type_:
        case Map():
            return True
        case Array(inner):
            return _holds_map(inner)
        case Struct(fields):
            return any(_holds_map(inner) for _, inner in fields)
        case _:
            return False


def _map_from_arrays(call: Call) -> Type:
    return _checked_key(call, _element(call.types[0]), _element(call.types[1]))


def _map_from_entries(call: Call) -> Type:
    inner = _element(call.types[0])
    if not isinstance(inner, Struct) or len(inner.fields) != 2:
        raise Refusal(f"{call.name} takes an array of structs with two fields, not {call.types[0]}")
    return _checked_key(call, inner.fields[0][1], inner.fields[1][1])


def _maps(call: Call) -> Type:
    if not call.types:
        return Map(STRING, STRING)
    if not isinstance(call.types[0], Map) or any(type_ != call.types[0] for type_ in call.types):
        listed = ", ".join(str(type_) for type_ in call.types)
        raise Refusal(f"{call.name} takes maps of one type, not {listed}; cast them to one type")
    return call.types[0]


def _contains_key(call: Call) -> Type:
    container = call.types[0]
    if (
        not isinstance(container, Map)
        or tightest(container.key, call.types[1]) is None
        or call.types[1] == VOID
    ):
        raise Refusal(f"the keys of {container} are not {call.types[1]}; cast the key")
    return BOOLEAN


def _keys(call: Call) -> Type:
    return Array(call.types[0].key if isinstance(call.types[0], Map) else VOID)


def _values(call: Call) -> Type:
    return Array(call.types[0].value if isinstance(call.types[0], Map) else VOID)


def _elements_and_index(given: tuple[Type, ...]) -> tuple[Type, ...]:
    return (_element(given[0]), INT)


def _one_element(given: tuple[Type, ...]) -> tuple[Type, ...]:
    return (_element(given[0]),)


def _two_elements(given: tuple[Type, ...]) -> tuple[Type, ...]:
    return (_element(given[0]), _element(given[0]))


def _pair(given: tuple[Type, ...]) -> tuple[Type, ...]:
    return (_element(given[0]), _element(given[1]))


def _entry(given: tuple[Type, ...]) -> tuple[Type, ...]:
    return (given[0].key, given[0].value) if isinstance(given[0], Map) else (VOID, VOID)


def _two_entries(given: tuple[Type, ...]) -> tuple[Type, ...]:
    left, right = given[:2]
    if not isinstance(left, Map) or not isinstance(right, Map):
        return (VOID, VOID, VOID)
    return (tightest(left.key, right.key) or VOID, left.value, right.value)


def _fold(given: tuple[Type, ...]) -> tuple[Type, ...]:
    return (given[1], _element(given[0]))


def _folded_so_far(given: tuple[Type, ...]) -> tuple[Type, ...]:
    return (given[1],)


def _folded(call: Call) -> Type:
    start, merged = call.types[1:3]
    if start != merged:
        raise Refusal(f"{call.name} starts with {start} but its lambda makes {merged} of it; cast the start")
    return call.types[3] if len(call.types) > 3 else start


def _mapped_keys(call: Call) -> Type:
    value = call.types[0].value if isinstance(call.types[0], Map) else VOID
    return _checked_key(call, call.types[1], value)


def _mapped_values(call: Call) -> Type:
    return Map(call.types[0].key if isinstance(call.types[0], Map) else VOID, call.types[1])


def _zipped_maps(call: Call) -> Type:
    left, right = call.types[:2]
    if (
        not isinstance(left, Map)
        or not isinstance(right, Map)
        or (key := tightest(left.key, right.key)) is None
    ):
        raise Refusal(f"the keys of {left} and {right} have no common type; cast them to one type")
    return Map(key, call.types[2])


COLLECTIONS = (
    *scalar("array", "any*", _array, raises=False, unifies=0),
    *scalar("struct", "any any*", _struct, raises=False),
    *scalar("named_struct", "any any any*", _named_struct, raises=False),
    *scalar("map", "any*", _map),
    *scalar("array_append array_prepend", "array!! any", _appended, raises=False, unifies=0),
    *scalar("array_insert", "array!! int|smallint|tinyint! any", _inserted),
    *scalar("array_compact array_distinct", "array!", same(), raises=False),
    *scalar("array_contains", "array! any", _contains, raises=False, unifies=0),
    *scalar("array_position", "array! any", _position, raises=False, unifies=0),
    *scalar("array_remove", "array! any", _removed, raises=False, unifies=0),
    *scalar(
        "array_except array_intersect array_union", "array!! array!!", _same_arrays, raises=False, unifies=0
    ),
    *scalar("arrays_overlap", "array!! array!!", _overlap, raises=False, unifies=0),
    *scalar("array_join", "array<string> string! string!?", "string", raises=False),
    *scalar("array_max array_min", "array!", _extreme, raises=False),
    *scalar("array_repeat", "any int!", lambda call: Array(call.types[0])),
    *scalar("array_size", "array!", "int", raises=False),
    *scalar("size cardinality", "array|map!", "int", raises=False),
    *scalar("sort_array", "array! boolean!?", _sorted, raises=False, constants=(1,)),
    *scalar("array_sort", "array!! int!?", _sorted, lambdas=((1, _two_elements),)),
    *scalar("arrays_zip", "array!*", _zipped, raises=False),
    *scalar("flatten", "array!", _flattened, raises=False),
    *scalar("slice", "array! int int", same()),
    *scalar("get", "array!! int", element(), raises=False),
    *scalar("element_at", "any any", _element_at),
    *scalar("try_element_at", "any any", _element_at),
    *scalar("reverse", "string|array|binary", same(), raises=False),
    *scalar("map_concat", "any*", _maps),
    *scalar("map_contains_key", "map!! any", _contains_key, raises=False),
    *scalar("map_entries", "map!", entries, raises=False),
    *scalar("map_keys", "map!", _keys, raises=False),
    *scalar("map_values", "map!", _values, raises=False),
    *scalar("map_from_arrays", "array! array!", _map_from_arrays),
    *scalar("map_from_entries", "array!", _map_from_entries),
    *scalar(
        "transform",
        "array!! any",
        lambda call: Array(call.types[1]),
        lambdas=((1, _elements_and_index),),
        raises=False,
    ),
    *scalar("filter", "array!! boolean!", same(), lambdas=((1, _elements_and_index),), raises=False),
    *scalar("exists forall", "array!! boolean!", "boolean", lambdas=((1, _one_element),), raises=False),
    *scalar(
        "zip_with",
        "array!! array!! any",
        lambda call: Array(call.types[2]),
        lambdas=((2, _pair),),
        raises=False,
    ),
    *scalar(
        "aggregate reduce",
        "array!! any any any?",
        _folded,
        lambdas=((2, _fold), (3, _folded_so_far)),
        raises=False,
    ),
    *scalar("map_filter", "map!! boolean!", same(), lambdas=((1, _entry),), raises=False),
    *scalar("transform_keys", "map!! any", _mapped_keys, lambdas=((1, _entry),)),
    *scalar("transform_values", "map!! any", _mapped_values, lambdas=((1, _entry),), raises=False),
    *scalar("map_zip_with", "map!! map!! any", _zipped_maps, lambdas=((2, _two_entries),), raises=False),
)
