"""HTML whose every text is escaped, because only what these functions made is taken for markup."""

from html import escape


class Markup(str):
    """A string that is HTML already."""

    __slots__ = ()


VOID = frozenset({"br", "link", "meta"})


def tag(name: str, /, *content: str, **attributes: str) -> Markup:
    """An element. `class_` is written `class`, and `aria_label` is written `aria-label`."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
    )
    if name in VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{join(*content)}</{name}>")


def join(*content: str) -> Markup:
    """One after the other; what is not markup is text."""
    return Markup("".join(_escaped(part) for part in content))


def _escaped(part: str) -> str:
    return part if isinstance(part, Markup) else escape(part, quote=False)
