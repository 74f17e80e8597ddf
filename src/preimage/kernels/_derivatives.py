"""Derivatives of any order of one-dimensional profiles, and how they combine."""

from math import comb
from numbers import Integral

from preimage._arrays import array_namespace, integer_power


def affine_power_derivatives(base, slope, exponent, order):
    """Derivatives 0 … order of (slope·s + c)^p in s, where `base` = slope·s + c; p is a whole number or base > 0."""
    derivatives, factor = [], 1.0
    for m in range(order + 1):
        derivatives.append(factor * _power(base, exponent - m) if factor else 0 * base)
        factor *= slope * (exponent - m)  # zero from p + 1 on where p is whole
    return derivatives


def product_derivatives(left, right):
    """Leibniz' rule: derivatives 0 … m of a product from those of its factors."""
    return [sum(comb(m, i) * left[i] * right[m - i] for i in range(m + 1)) for m in range(len(left))]


def power_derivatives(derivatives, exponent):
    """Derivatives of f^d from those of f, by Leibniz' rule d − 1 times."""
    result = derivatives
    for _ in range(exponent - 1):
        result = product_derivatives(result, derivatives)
    return result


def _power(base, exponent):
    if exponent == 0:
        return array_namespace(base).ones_like(base)
    return integer_power(base, exponent) if isinstance(exponent, Integral) and exponent > 0 else base**exponent
