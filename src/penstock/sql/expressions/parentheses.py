"""Parentheses where they are needed, and nowhere else."""

from __future__ import annotations

from sqlglot import exp

from penstock.sql.text.dialect import render

#: How tightly an operator binds; what is not here binds as tightly as a name.
_BINDS: tuple[tuple[type[exp.Expr], ...], ...] = (
    (exp.Or,),
    (exp.And,),
    (exp.Not,),
    (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In,
     exp.Between, exp.Like, exp.ILike, exp.RegexpLike, exp.Escape),
    (exp.BitwiseOr,),
    (exp.BitwiseXor,),
    (exp.BitwiseAnd,),
    (exp.BitwiseLeftShift, exp.BitwiseRightShift),
    (exp.Add, exp.Sub, exp.DPipe),
    (exp.Mul, exp.Div, exp.IntDiv, exp.Mod),
    (exp.Neg, exp.BitwiseNot),
)  # fmt: skip
_ATOM = len(_BINDS)


def tidied(tree: exp.Expr) -> exp.Expr:
    """A copy of an expression with the parentheses that its meaning needs."""
    return parenthesised(unwrapped(tree.copy()))


def text_of(tree: exp.Expr) -> str:
    """An expression as it stands in a plan."""
    return render(tidied(tree))


def unwrapped(tree: exp.Expr) -> exp.Expr:
    """The tree without parentheses, which `parenthesised` puts back where they are needed."""
    while isinstance(tree, exp.Paren):
        tree = tree.this.pop()
    for paren in list(tree.find_all(exp.Paren)):
        paren.replace(paren.this)
    return tree


def _binding(tree: exp.Expr) -> int:
    return next((level for level, kinds in enumerate(_BINDS) if isinstance(tree, kinds)), _ATOM)


def parenthesised(tree: exp.Expr) -> exp.Expr:
    """Parentheses around what binds less tightly than what it stands in."""
    level = _binding(tree)
    for key, value in list(tree.args.items()):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, exp.Expr):
                continue
            parenthesised(child)
            own = _binding(child)
            if isinstance(tree, exp.Escape):
                continue  # `a LIKE b ESCAPE c` is one operator in two nodes
            right = key != "this" and level < _ATOM
            if level < _ATOM and own < _ATOM and (own < level or (own == level and (right or level == 3))):
                child.replace(exp.Paren(this=child.copy()))
    return tree
