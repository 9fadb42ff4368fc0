"""Any valid instance of a message class, made from what msgspec knows of its fields.

Nothing here knows a protocol: a new message, with whatever types and bounds its fields have, is
covered the moment it is registered. A type that is missing here fails loudly.
"""

import math
from typing import Any

import hypothesis.strategies as st
import msgspec.inspect as mi
from hypothesis import reject
from msgspec import Struct

LEAST_INT, MOST_INT = -(1 << 63), (1 << 64) - 1
"""What MessagePack can hold."""


def instances(kind: type[Struct], *, infinity: bool = True) -> st.SearchStrategy[Any]:
    """Instances of that class whose fields are all within their bounds; JSON has no infinity."""
    return _Maker(infinity).of(mi.type_info(kind))


class _Maker:
    def __init__(self, infinity: bool) -> None:
        self._infinity = infinity
        self._structs: dict[type, st.SearchStrategy[Any]] = {}

    def of(self, kind: mi.Type) -> st.SearchStrategy[Any]:
        match kind:
            case mi.StructType():
                return self._struct(kind)
            case mi.UnionType():
                return st.one_of([self.of(part) for part in kind.types])
            case mi.VarTupleType():
                return self._list(kind).map(tuple)
            case mi.ListType():
                return self._list(kind)
            case mi.TupleType():
                return st.tuples(*map(self.of, kind.item_types))
            case mi.DictType():
                keys, values = self.of(kind.key_type), self.of(kind.value_type)
                least = kind.min_length or 0
                return st.dictionaries(keys, values, min_size=least, max_size=kind.max_length)
            case mi.Metadata():
                return self.of(kind.type)
            case mi.LiteralType():
                return st.sampled_from(kind.values)
            case mi.EnumType():
                return st.sampled_from(list(kind.cls))
            case mi.FloatType():
                return self._float(kind)
            case _:
                return _scalar(kind)

    def _struct(self, kind: mi.StructType) -> st.SearchStrategy[Any]:
        if kind.cls not in self._structs:

            def make(**fields: Any) -> Any:
                try:
                    return kind.cls(**fields)
                except ValueError:  # its __post_init__ knows more than the fields' bounds say
                    reject()

            # Put down before the fields are looked at: a field may hold the class itself.
            self._structs[kind.cls] = st.deferred(
                lambda: st.builds(
                    make, **{field.name: self.of(field.type) for field in kind.fields}
                )
            )
        return self._structs[kind.cls]

    def _list(self, kind: mi.VarTupleType | mi.ListType) -> st.SearchStrategy[list[Any]]:
        least = kind.min_length or 0
        return st.lists(self.of(kind.item_type), min_size=least, max_size=kind.max_length)

    def _float(self, kind: mi.FloatType) -> st.SearchStrategy[float]:
        assert kind.multiple_of is None
        floats = st.floats(
            min_value=kind.ge if kind.gt is None else kind.gt,
            max_value=kind.le if kind.lt is None else kind.lt,
            exclude_min=kind.gt is not None,
            exclude_max=kind.lt is not None,
            allow_nan=False,  # which equals nothing, itself included
        )
        return floats if self._infinity else floats.filter(math.isfinite)


def _scalar(kind: mi.Type) -> st.SearchStrategy[Any]:
    match kind:
        case mi.IntType():
            return _integers(kind)
        case mi.StrType(pattern=None):
            characters = st.characters(codec="utf-8")
            return st.text(characters, min_size=kind.min_length or 0, max_size=kind.max_length)
        case mi.BytesType():
            return st.binary(min_size=kind.min_length or 0, max_size=kind.max_length)
        case mi.BoolType():
            return st.booleans()
        case mi.NoneType():
            return st.none()
        case _:
            raise NotImplementedError(f"tests/support/instances.py makes no {kind}")


def _integers(kind: mi.IntType) -> st.SearchStrategy[int]:
    assert kind.multiple_of is None
    least, most = LEAST_INT, MOST_INT
    if kind.ge is not None:
        least = kind.ge
    if kind.gt is not None:
        least = kind.gt + 1
    if kind.le is not None:
        most = kind.le
    if kind.lt is not None:
        most = kind.lt - 1
    return st.integers(least, most)
