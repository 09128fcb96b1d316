from sqlglot import exp

from penstock.model.schema import Schema

SAFE = {"upper", "lower", "nullif", "coalesce", "window", "count", "avg", "sum", "min", "max", "length"}


def can_raise(tree: exp.Expr, schema: Schema) -> bool:
    for n in tree.walk():
        if isinstance(n, (exp.Div, exp.Mod, exp.IntDiv, exp.Bracket)) or type(n) is exp.Cast:
            return True
        if isinstance(n, (exp.Add, exp.Sub, exp.Mul)):
            fs = [schema.get(c.parts[0].name) for c in n.find_all(exp.Column)]
            if not n.find(exp.Interval) and not any(
                f is not None and f.type in ("double", "float") for f in fs
            ):
                return True
        if isinstance(n, exp.Anonymous) and str(n.this).lower() not in SAFE:
            return True
    return False
