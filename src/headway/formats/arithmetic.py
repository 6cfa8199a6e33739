"""Arithmetic in the amounts of a task: numbers, names, + - * / // %, parentheses, min and max; nothing else."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping

from headway.formats.fields import is_number, short

_Value = Callable[[Mapping[str, str]], float]
_OPERATORS: dict[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {"min": min, "max": max}
_MOST_CHARACTERS = 200  # also bounds how deep the evaluation recurses
_ALLOWED = "numbers, names, + - * / // %, parentheses, min and max are allowed"


class NoArithmeticError(Exception):
    """Why a text cannot be computed."""


class Arithmetic:
    """An expression over names, compiled from Python's syntax tree. A name alone stands for any text.

    >>> Arithmetic("min(size * 2, 100) // 3").text({"size": "20"})
    '13'
    """

    def __init__(self, text: str) -> None:
        if len(text) > _MOST_CHARACTERS:
            raise NoArithmeticError(f"it is longer than {_MOST_CHARACTERS} characters")
        try:
            tree = None if text.strip().isidentifier() else ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            raise NoArithmeticError(f"this is no arithmetic: {_ALLOWED}") from None
        self.names = [] if tree else [text.strip()]
        self._value = self._compiled(tree) if tree else None

    def text(self, values: Mapping[str, str]) -> str:
        """The result, given the values of the names as they are written."""
        if self._value is None:
            return values[self.names[0]]
        try:
            value = self._value(values)
        except ZeroDivisionError:
            raise NoArithmeticError("it divides by 0") from None
        if not math.isfinite(value):
            raise NoArithmeticError("the number is too large")
        return str(int(value)) if value == int(value) else f"{value:.12g}"

    def _compiled(self, node: ast.AST) -> _Value:
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return lambda values: float(number)
            case ast.Name(name):
                self.names.append(name)
                return lambda values: _number(name, values[name])
            case ast.BinOp(left, op, right) if type(op) in _OPERATORS:
                combined, one, other = _OPERATORS[type(op)], self._compiled(left), self._compiled(right)
                return lambda values: combined(one(values), other(values))
            case ast.UnaryOp(ast.USub(), operand):
                inner = self._compiled(operand)
                return lambda values: -inner(values)
            case ast.Call(ast.Name(name), [_, *_] as arguments, []) if name in _FUNCTIONS:
                function, parts = _FUNCTIONS[name], list(map(self._compiled, arguments))
                return lambda values: function(part(values) for part in parts)
        raise NoArithmeticError(f"{ast.unparse(node)!r} is no arithmetic: {_ALLOWED}")


def _number(name: str, text: str) -> float:
    if not is_number(text):
        raise NoArithmeticError(f"{name} is {short(text)}, not a number")
    return float(text)
