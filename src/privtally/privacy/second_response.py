"""How one attribute is randomised, as the verifier computes it, and how the verifier refuses."""

from decimal import Decimal, localcontext
from fractions import Fraction
from operator import mul
from typing import Any

from privtally.errors import PlanError

WORDS = 2**64


class CertificateError(PlanError):
    """A certificate or its plan is not true."""


def require(holds: bool, otherwise: str) -> None:  # noqa: FBT001  # an assertion under another name
    """Refuse the certificate unless this holds."""
    if not holds:
        raise CertificateError(f"the certificate is refused: {otherwise}")


class Response:
    """How one attribute is randomised: codes that belong to a label have one weight, all others another.

    With "grr" a code belongs to the label that it is; with "pg" codes and labels are points of a projective space over
    a prime field, and a code belongs to the labels whose vectors have the product 0 with its own.
    """

    def __init__(self, channel: dict[str, Any], size: int, budget: Fraction) -> None:
        self.inputs = self.outputs = size
        self.inside, self.order, self.dimension = 1, 0, 0
        self._points: dict[int, list[int]] = {}
        if channel != {"kind": "grr"}:
            require(set(channel) == {"kind", "order", "dimension"} and channel["kind"] == "pg", "a channel is unknown")
            self.order, self.dimension = channel["order"], channel["dimension"]
            whole = type(self.order) is int and type(self.dimension) is int
            bounded = whole and 2 <= self.order <= 406 and 3 <= self.dimension <= 26
            require(bounded and self.order**self.dimension <= 2**26, "a geometry is out of range")
            require(all(self.order % n for n in range(2, self.order)), "a geometry needs a prime")
            powers = [self.order**power for power in range(self.dimension)]
            self.outputs, self.inside = sum(powers), sum(powers[:-1])
            require(self.outputs >= size, "a geometry has too few points")
        with localcontext(prec=150):
            power = exp_of(budget)
            self.other = _sure_floor(WORDS / (self.inside * power + self.outputs - self.inside))
            self.same = _sure_floor(power * self.other)
        self.total = self.inside * self.same + (self.outputs - self.inside) * self.other

    def holds(self, label: int, code: int) -> bool:
        """Whether the code belongs to the label."""
        if not self.order:
            return label == code
        for number in {label, code} - set(self._points):
            self._points[number] = self._point(number)
        return bool(sum(map(mul, self._points[label], self._points[code])) % self.order == 0)

    def _point(self, number: int) -> list[int]:
        """The coordinates of a point: zeros, a one, and the digits of what is left of its number."""
        for zeros in range(self.dimension):
            behind = self.dimension - 1 - zeros
            if number < self.order**behind:
                digits = [number // self.order**power % self.order for power in range(behind - 1, -1, -1)]
                return [0] * zeros + [1, *digits]
            number -= self.order**behind
        raise IndexError


def exp_of(power: Fraction) -> Decimal:
    """The exponential function of a rational, in the precision of the context."""
    return (Decimal(power.numerator) / Decimal(power.denominator)).exp()


def _sure_floor(value: Decimal) -> int:
    margin = (value + 1) * Decimal("1e-120")
    low, high = int(value - margin), int(value + margin)
    require(low == high, "a weight is too close to call")
    return low
