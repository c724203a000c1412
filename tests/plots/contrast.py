"""How well colours stand out from each other."""

from collections.abc import Sequence


def luminance(colour: Sequence[float]) -> float:
    """How light a colour of red, green and blue between 0 and 1 is (WCAG 2's relative luminance)."""
    red, green, blue = (light / 12.92 if light <= 0.04045 else ((light + 0.055) / 1.055) ** 2.4 for light in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Sequence[float], other: Sequence[float]) -> float:
    """WCAG 2's contrast ratio, from 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)
