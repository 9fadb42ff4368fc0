"""Means over repetitions, with their 95 % confidence intervals."""

import math
from dataclasses import dataclass
from statistics import NormalDist

_T_975 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
"""The 97.5 % point of Student's t for 1 to 30 degrees of freedom."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over `n` repetitions; the interval is unknown where there is only one."""

    n: int
    mean: float
    low: float | None
    high: float | None


def estimate(n: int, mean: float, deviation: float | None, *, is_share: bool = False) -> Estimate:
    """From the sample's size, mean and standard deviation. A share's interval ends at 0 and 1."""
    if n < 2 or deviation is None:
        return Estimate(n, mean, None, None)
    half = t_975(n - 1) * deviation / math.sqrt(n)
    low, high = mean - half, mean + half
    return (
        Estimate(n, mean, max(0.0, low), min(1.0, high))
        if is_share
        else Estimate(n, mean, low, high)
    )


def t_975(degrees: int) -> float:
    if degrees < 1:
        raise ValueError(f"degrees must be at least 1, is {degrees}")
    if degrees <= len(_T_975):
        return _T_975[degrees - 1]
    # Beyond the table, the expansion in 1/degrees is good to five digits.
    z = NormalDist().inv_cdf(0.975)
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
