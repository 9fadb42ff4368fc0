"""Spark's schema of a journal's lines, made from the one definition of its records."""

import msgspec
import msgspec.inspect as mi
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from agents.core.journal import Count, Header, Record, Total

CORRUPT = "_corrupt_record"

KINDS: dict[str, type[msgspec.Struct]] = {
    "header": Header,
    "record": Record,
    "count": Count,
    "total": Total,
}
"""What a line can be."""

_STARTS = {
    "header": '{"record":"header"',
    "record": '{"time":',
    "count": '{"record":"count"',
    "total": '{"record":"total"',
}
"""How it begins: writers put the tag first, and a `Record`, which has none, its time."""


def line_kind(line: Column) -> Column:
    """Which of `KINDS` a line claims to be; null for none."""
    found = F.lit(None).cast("string")
    for kind, start in _STARTS.items():
        found = F.when(line.startswith(start), F.lit(kind)).otherwise(found)
    return found


def spark_type(kind: type[msgspec.Struct]) -> T.StructType:
    """The columns of one kind of line, with one more for a line that cannot be read."""
    info = mi.type_info(kind)
    assert isinstance(info, mi.StructType)
    fields = [T.StructField(field.name, _of(field.type)) for field in info.fields]
    return T.StructType([*fields, T.StructField(CORRUPT, T.StringType())])


def required(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """The fields without which a line is no line of its kind."""
    fields = msgspec.structs.fields(kind)
    return tuple(field.name for field in fields if field.required)


def defaults(kind: type[msgspec.Struct]) -> dict[str, object]:
    """What a field means that a line leaves out."""
    return {
        field.name: field.default
        for field in msgspec.structs.fields(kind)
        if field.default is not msgspec.NODEFAULT
    }


def _of(kind: mi.Type) -> T.DataType:
    match kind:
        case mi.IntType():
            return T.LongType()
        case mi.FloatType():
            return T.DoubleType()
        case mi.BoolType():
            return T.BooleanType()
        case mi.StrType() | mi.LiteralType():
            return T.StringType()
        case mi.DictType():
            return T.MapType(_of(kind.key_type), _of(kind.value_type))
        case mi.ListType():
            return T.ArrayType(_of(kind.item_type))
        case _:
            raise TypeError(f"a journal's field of type {kind} has no column type yet")
