"""Schemas: named, typed columns, and how many bytes a row of them takes."""

from __future__ import annotations

from dataclasses import dataclass

#: Bytes an average value takes, by Spark SQL type; what a plan is costed with before anything was measured.
TYPE_BYTES: dict[str, int] = {
    "boolean": 1,
    "tinyint": 1,
    "smallint": 2,
    "int": 4,
    "bigint": 8,
    "float": 4,
    "double": 8,
    "decimal": 16,
    "date": 4,
    "timestamp": 8,
    "string": 24,
    "binary": 32,
}

#: The type of an expression that nothing has typed yet.
UNTYPED = "unknown"


@dataclass(frozen=True, slots=True)
class Field:
    """One column: its name and its Spark SQL type in lower case."""

    name: str
    type: str

    @property
    def bytes(self) -> int:
        """The size of an average value."""
        return TYPE_BYTES.get(self.type.partition("(")[0], 32)


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a stream, in order."""

    fields: tuple[Field, ...] = ()

    @classmethod
    def of(cls, **types: str) -> Schema:
        """`Schema.of(t="timestamp", room="string")`."""
        return cls(tuple(Field(name, type_) for name, type_ in types.items()))

    @property
    def names(self) -> tuple[str, ...]:
        """Column names, in order."""
        return tuple(field.name for field in self.fields)

    @property
    def row_bytes(self) -> int:
        """The size of an average row."""
        return sum(field.bytes for field in self.fields)

    def get(self, name: str) -> Field | None:
        """The column of that name, if there is one; upper and lower case are the same, as in Spark."""
        return next((field for field in self.fields if field.name.lower() == name.lower()), None)

    def __str__(self) -> str:
        return ", ".join(f"{field.name} {field.type}" for field in self.fields)


#: No columns, which no stream has: the schema is not known.
EMPTY = Schema()
