"""Reads Python files: argv[1] is a file with {path: text} as JSON, argv[2] the file for what is in each: mutants and tests."""

import ast
import json
import sys

MOST = 4  # mutants of one statement
MAX_TEXT = 4 << 10
UNTOUCHED = {"acquire", "release", "lock", "unlock", "wait", "join", "close", "exit", "_exit", "abort"}
COMPARED = {
    ast.Lt: ("boundary", ast.LtE), ast.LtE: ("boundary", ast.Lt), ast.Gt: ("boundary", ast.GtE),
    ast.GtE: ("boundary", ast.Gt), ast.Eq: ("condition", ast.NotEq), ast.NotEq: ("condition", ast.Eq),
    ast.Is: ("condition", ast.IsNot), ast.IsNot: ("condition", ast.Is), ast.In: ("condition", ast.NotIn),
    ast.NotIn: ("condition", ast.In),
}
COMPUTED = {
    ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}
LEFT_OUT = {
    "strip", "lstrip", "rstrip", "lower", "upper", "casefold", "title", "capitalize", "swapcase", "copy", "splitlines",
}
NEEDED = {"isinstance", "issubclass", "range", "map", "filter", "zip", "min", "max"}  # they crash without their last argument
PLAIN = {"compile", "frozenset", "set", "dict", "tuple", "list", "Decimal", "timedelta", "field", "Field"}
INSTEAD = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list", "reversed": "list"}


def logical(e):
    return isinstance(e, (ast.Compare, ast.BoolOp)) or isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not)


def numeric(e):
    return isinstance(e, ast.Constant) and type(e.value) in (int, float)


def textual(e):
    return isinstance(e, ast.JoinedStr) or isinstance(e, ast.Constant) and isinstance(e.value, (str, bytes))


def constant(value):
    """Another constant of the type; None for none."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    if isinstance(value, str):
        less = value.strip().rpartition(" ")[0]  # a part of it is less than all
        return less or ("" if value else "x")
    if isinstance(value, bytes):
        return b"" if value else b"x"
    return None


def shorter(e):
    """A formatted text without its last word or value; None for none."""
    parts = list(e.values)
    if parts and isinstance(parts[-1], ast.Constant):
        less = parts.pop().value.rstrip().rpartition(" ")[0]
        parts += [ast.Constant(less)] if less else []
    elif parts:
        parts.pop()
    return ast.JoinedStr(parts) if parts else None


def plain(e):
    """Whether an expression is the same whenever it is evaluated, and needs no name but of a type."""
    calls = [n.func for n in ast.walk(e) if isinstance(n, ast.Call)]
    return all((f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "")) in PLAIN for f in calls)


def variants(e, test, member):
    """The kinds and texts of expressions in place of one; member tells that it is on the right of "in"."""
    if isinstance(e, ast.JoinedStr):
        other = shorter(e)
        if other is not None:
            yield "constant", other
    elif isinstance(e, ast.Compare):
        for i, op in enumerate(e.ops):
            kind, other = COMPARED[type(op)]
            yield kind, ast.Compare(e.left, e.ops[:i] + [other()] + e.ops[i + 1:], e.comparators)
    elif isinstance(e, ast.BoolOp):
        yield "condition", ast.BoolOp(ast.Or() if isinstance(e.op, ast.And) else ast.And(), e.values)
    elif isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not):
        yield "condition", e.operand
    elif isinstance(e, ast.BinOp):
        other = COMPUTED.get(type(e.op))
        if isinstance(e.op, ast.Add) and (numeric(e.left) or numeric(e.right)):
            other = ast.Sub
        if other and not textual(e.left):
            yield "constant", ast.BinOp(e.left, other(), e.right)
    elif isinstance(e, ast.Constant):
        other = constant(e.value)
        if other is not None:
            yield "constant", ast.Constant(other)
    elif isinstance(e, (ast.List, ast.Set)) and len(e.elts) > 1 or isinstance(e, ast.Tuple) and member and len(e.elts) > 1:
        yield "element", type(e)(elts=e.elts[:-1], ctx=ast.Load()) if not isinstance(e, ast.Set) else ast.Set(e.elts[:-1])
    elif isinstance(e, ast.Dict) and len(e.keys) > 1:
        yield "element", ast.Dict(e.keys[:-1], e.values[:-1])
    elif isinstance(e, ast.Call):
        fun = e.func
        if isinstance(fun, ast.Attribute) and fun.attr in LEFT_OUT and not e.args and not e.keywords:
            yield "call", fun.value
        elif isinstance(fun, ast.Name) and fun.id in INSTEAD and not (fun.id in ("sorted", "reversed") and e.keywords):
            yield "call", ast.Call(ast.Name(INSTEAD[fun.id], ast.Load()), e.args, e.keywords)
        if e.keywords and e.keywords[-1].arg:
            yield "element", ast.Call(fun, e.args, e.keywords[:-1])
        elif len(e.args) > 1 and not isinstance(e.args[-1], (ast.Constant, ast.Starred)) and getattr(fun, "id", "") not in NEEDED:
            yield "element", ast.Call(fun, e.args[:-1] + [ast.Constant(None)], e.keywords)
    if test and not logical(e) and not isinstance(e, ast.Constant):
        yield "condition", ast.UnaryOp(ast.Not(), e)


def returned(e):
    """What is returned in place of a value; None for nothing else."""
    if isinstance(e, ast.Constant) and e.value is None:
        return ast.Constant(True)
    if e is None or isinstance(e, ast.Constant) and not textual(e):
        return None
    if logical(e):
        return ast.UnaryOp(ast.Not(), e)
    if textual(e):
        return None if isinstance(e, ast.Constant) else ast.Constant("")
    if isinstance(e, (ast.List, ast.ListComp)):
        return ast.List([], ast.Load())
    if isinstance(e, (ast.Dict, ast.DictComp)):
        return ast.Dict([], [])
    return ast.Constant(None)


class Mutants:
    """The mutants of one file. Of code that runs when it is loaded only values have some: of constants, of attributes of classes, of
    arguments and decorators."""

    def __init__(self, text):
        self.data = text.encode()
        self.starts = [0]
        for line in self.data.split(b"\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.found, self.loads, self.kind = [], False, None

    def span(self, node):
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset

    def of(self, start, end):
        return self.data[start:end].decode()

    def definitions(self, body, prefix):
        for node in body:
            if isinstance(node, ast.ClassDef):
                self.definitions(node.body, prefix + node.name + ".")
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.function(node, prefix, True)
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                if isinstance(target, ast.Name) and not target.id.startswith("__") and node.value is not None and plain(node.value):
                    self.loaded(prefix + target.id, [node.value], self.span(node))
            else:
                for field in ("body", "orelse", "finalbody", "handlers"):
                    inner = getattr(node, field, [])
                    if isinstance(inner, list):
                        self.definitions(inner, prefix)

    def function(self, node, prefix, loads=False):
        outer = getattr(self, "name", None)
        if loads:
            self.loaded(prefix + node.name, [e for e in node.args.defaults + node.args.kw_defaults if e and plain(e)], kind="default")
            if sys.version_info >= (3, 9):
                self.loaded(prefix + node.name, [a for d in node.decorator_list if isinstance(d, ast.Call) for a in d.args + [
                    k.value for k in d.keywords] if plain(a)])
        self.name = prefix + node.name
        self.block(node.body)
        self.name = outer

    def loaded(self, name, values, shown=None, kind=None):
        """Values that code has which runs when the file is loaded."""
        for e in values:
            start, end = self.span(e)
            if end - start <= MAX_TEXT:
                line = self.starts[e.lineno - 1], self.starts[e.lineno] - 1
                self.name, self.loads, self.left, self.shown = name, True, MOST, shown or (line[0], max(end, line[1]))
                self.kind = kind
                self.expression(e, member=True)
        self.loads, self.kind = False, None

    def block(self, body):
        for s in body:
            start, end = self.span(s)
            if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.function(s, self.name + ".")
            elif isinstance(s, ast.ClassDef):
                self.definitions(s.body, self.name + "." + s.name + ".")
            elif hasattr(s, "body") or hasattr(s, "cases"):
                self.compound(s)
            elif end - start <= MAX_TEXT:
                self.left, self.shown = MOST, (start, end)
                self.simple(s)

    def compound(self, s):
        headers = [getattr(s, "test", None), getattr(s, "iter", None), getattr(s, "subject", None)]
        headers += [item.context_expr for item in getattr(s, "items", [])]
        for e in headers:
            self.header(e, e is headers[0], s if isinstance(s, ast.For) and e is headers[1] else None)
        for case in getattr(s, "cases", []):
            self.header(case.guard, True)
            self.block(case.body)
        for field in ("body", "orelse", "finalbody"):
            self.block(getattr(s, field, []))
        for handler in getattr(s, "handlers", []):
            self.block(handler.body)

    def header(self, e, test, loop=None):
        if e is not None and self.span(e)[1] - self.span(e)[0] <= MAX_TEXT:
            self.left, self.shown = MOST, self.span(e)
            if loop is not None:
                self.fewer(loop)
            self.expression(e, test)

    def fewer(self, loop):
        """A loop without its first element; it may have no end."""
        if not getattr(loop, "is_async", 0):
            start, end = self.span(loop.iter)
            of = self.of(start, end)
            alt = "__import__('itertools').islice(%s, 1, None)" % ast.unparse(loop.iter)
            self.keep("element", start, end, alt, self.of(self.shown[0], start) + of + " but for the first" + self.of(end, self.shown[1]))

    def simple(self, s):
        if isinstance(s, ast.Expr):
            self.discarded(s)
        elif isinstance(s, ast.Return):
            other = returned(s.value)
            if other is not None:
                self.add("returned value", s.value, other)
            if isinstance(s.value, ast.Tuple) and len(s.value.elts) > 1:
                first, second, *rest = s.value.elts
                if not isinstance(first, ast.Starred) and ast.dump(first) != ast.dump(second):
                    self.add("returned value", s.value, ast.Tuple([second, first, *rest], ast.Load()))
            self.expression(s.value)
        elif isinstance(s, ast.Raise):
            self.removed("error", s)
            for e in (s.exc, s.cause):
                self.expression(e)
        elif isinstance(s, ast.Delete):
            self.removed("call", s)
        elif isinstance(s, ast.AugAssign):
            if isinstance(s.op, ast.Sub):
                self.add("constant", s.value, ast.UnaryOp(ast.USub(), s.value))
            self.expression(s.value)
        elif isinstance(s, (ast.Assign, ast.AnnAssign)):
            self.expression(s.value)
        elif isinstance(s, ast.Assert):
            self.expression(s.test, True)

    def discarded(self, s):
        call = s.value.value if isinstance(s.value, ast.Await) else s.value
        if isinstance(call, ast.Constant):
            return  # a docstring
        if isinstance(call, ast.Call):
            fun = call.func
            name = fun.attr if isinstance(fun, ast.Attribute) else getattr(fun, "id", "")
            if name not in UNTOUCHED:
                self.add("call", s.value, None)
        self.expression(s.value)

    def removed(self, kind, s):
        """A statement that is left out, where nothing else is on its lines."""
        start, end = self.span(s)
        before = self.data[self.starts[s.lineno - 1]:start]
        after = self.data[end:self.starts[s.end_lineno]].strip()
        if not before.strip() and (not after or after.startswith(b"#")):
            self.keep(kind, start, end, "", "")

    def expression(self, e, test=False, member=False):
        if e is None or self.left <= 0 or type(e).__name__ == "TemplateStr":
            return
        if isinstance(e, ast.JoinedStr):
            for kind, other in variants(e, test, member):
                self.add(kind, e, other)
            return
        if isinstance(e, ast.Lambda):
            return self.expression(e.body)
        if isinstance(e, ast.comprehension):
            self.fewer(e)
            self.expression(e.iter)
            for one in e.ifs:
                self.expression(one, True)
            return
        if not isinstance(e, ast.expr):  # a keyword, a slice of old versions
            for part in ast.iter_child_nodes(e):
                self.expression(part)
            return
        if not isinstance(getattr(e, "ctx", ast.Load()), ast.Load):
            return
        for kind, other in variants(e, test, member):
            self.add(kind, e, other)
        for part in ast.iter_child_nodes(e):
            if isinstance(e, ast.Dict) and part in e.keys and isinstance(part, ast.Constant):
                continue
            if isinstance(e, ast.Subscript) and part is e.slice and textual(part):
                continue
            inner = isinstance(e, ast.BoolOp) or logical(part) and isinstance(e, ast.UnaryOp)
            within = isinstance(e, ast.Compare) and part is not e.left and isinstance(e.ops[-1], (ast.In, ast.NotIn))
            self.expression(part, test and inner or isinstance(e, ast.IfExp) and part is e.test, within)

    def add(self, kind, e, other):
        start, end = self.span(e)
        if other is None:
            return self.keep(kind, start, end, "None", "")
        alt = ast.unparse(ast.fix_missing_locations(ast.Expression(other)))
        from_, to = self.shown
        if "\n" not in alt and alt.encode() != self.data[start:end]:
            self.keep(kind, start, end, alt, self.of(from_, start) + alt + self.of(end, to))

    def keep(self, kind, start, end, alt, new):
        if self.left > 0:
            self.left -= 1
            self.found.append({
                "Kind": self.kind or kind, "Func": self.name, "Line": self.data.count(b"\n", 0, start) + 1, "From": start, "To": end,
                "Alt": alt, "Old": self.of(*self.shown).strip(), "New": new.strip(), "Loads": self.loads,
            })


def head(tree, source):
    """The byte before which a statement can stand in front of all code, and the texts around it there."""
    last = None
    for i, s in enumerate(tree.body):
        docstring = i == 0 and isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant) and isinstance(s.value.value, str)
        if not docstring and not (isinstance(s, ast.ImportFrom) and s.module == "__future__"):
            break
        last = s
    if last is not None:
        return source.span(last)[1], "; ", ""
    first = tree.body[0]
    line = min([first.lineno] + [d.lineno for d in getattr(first, "decorator_list", [])])
    at = source.starts[line - 1]
    return at, "", "\n" if hasattr(first, "body") or hasattr(first, "cases") else "; "


def tests(body, text, prefix=""):
    for node in body:
        if isinstance(node, ast.ClassDef) and (node.name.startswith("Test") or node.bases):
            yield from tests(node.body, text, prefix + node.name + ".")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test"):
            lines = text.split("\n")[min([node.lineno] + [d.lineno for d in node.decorator_list]) - 1:node.end_lineno]
            yield prefix + node.name, "\n".join(lines), idle(node)


CHECKS = ("assert", "raises", "warns", "fail", "expect", "check", "verify", "should", "approve")


def same(e):
    """Whether a condition is the same whatever the code does."""
    return isinstance(e, ast.Constant) or isinstance(e, ast.Compare) and ast.dump(e.left) == ast.dump(e.comparators[0])


def idle(node):
    """Why a test looks as if it proved nothing; empty for none."""
    body = [s for s in node.body if not isinstance(s, ast.Pass) and not (
        isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if not body:
        return "it is empty"
    asserts = [n for n in ast.walk(node) if isinstance(n, ast.Assert)]
    calls = [n.func for n in ast.walk(node) if isinstance(n, ast.Call)]
    names = [f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "") for f in calls]
    if not asserts and not any(c in name.lower() for name in names for c in CHECKS):
        return "it asserts nothing"
    if asserts and all(same(n.test) for n in asserts) and not any("assert" in name.lower() for name in names):
        return "it compares values with themselves"
    if any("Mock" in name or "patch" in name for name in names + [ast.dump(d) for d in node.decorator_list]):
        return "mocks take the place of the code"
    return ""


def read(text):
    tree = ast.parse(text)
    found = {"Changes": [], "Tests": {}, "Idle": {}, "Head": 0, "Before": "", "After": ""}
    for name, body, why in tests(tree.body, text):
        found["Tests"][name], found["Idle"][name] = body, why
    if tree.body and "\f" not in text and "\r" not in text.replace("\r\n", "") and not text.startswith("\ufeff"):
        source = Mutants(text)
        source.definitions(tree.body, "")
        found["Changes"] = source.found
        found["Head"], found["Before"], found["After"] = head(tree, source)
    return found


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        files = json.load(f)
    answer = {}
    for path, text in files.items():
        try:
            answer[path] = read(text)
        except (SyntaxError, ValueError, RecursionError):
            continue  # it is of another version of Python, or none
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        json.dump(answer, f)


main()
