"""How numbers are written."""

from typing import Any

from analysis.intervals import Estimate

NO_BREAK = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
NINETY_FIVE = f"95{NO_BREAK}%"


def number(value: float) -> str:
    """As many digits as help: whole numbers whole, others with three or four figures."""
    size = abs(value)
    if value == round(value) or size >= 1000:
        text = f"{value:,.0f}"
    elif size >= 100:
        text = f"{value:.1f}"
    elif size >= 1:
        text = f"{value:.2f}"
    else:
        text = f"{value:.3g}"
    return text.replace("-", MINUS) if size >= 1e-4 or value == 0 else text


def share(value: float, digits: int = 1) -> str:
    return f"{100 * value:.{digits}f}{NO_BREAK}%".replace("-", MINUS)


def quantity(value: float, *, is_share: bool) -> str:
    return share(value) if is_share else number(value)


def interval(value: Estimate, *, is_share: bool) -> str:
    """Empty where one repetition gave none."""
    if value.low is None or value.high is None:
        return ""
    low, high = (quantity(end, is_share=is_share) for end in (value.low, value.high))
    return f"{low} to {high}"


def plain(value: Any) -> str:
    """A sweep's value or a manifest's, as it would be typed."""
    match value:
        case dict():
            return ", ".join(f"{key} {plain(inner)}" for key, inner in value.items())
        case list() | tuple():
            return ", ".join(plain(inner) for inner in value)
        case bool():
            return "yes" if value else "no"
        case _:
            return str(value)
