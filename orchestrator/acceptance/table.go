package acceptance

import "go/ast"

// table is the table that an expression names, and its number of rows where the text shows it.
func (g *goFunction) table(e ast.Expr, depth int) (*ast.CompositeLit, int) {
	if depth > 4 {
		return nil, 0
	}
	switch e := e.(type) {
	case *ast.CompositeLit:
		return e, len(e.Elts)
	case *ast.Ident:
		value, ok := g.tables[e.Name]
		if !ok {
			value = g.side.tables[e.Name]
		}
		return g.table(value, depth+1)
	case *ast.CallExpr: // slices.Values, maps.Keys
		if len(e.Args) > 0 {
			return g.table(e.Args[0], depth+1)
		}
	}
	return nil, 0
}

func (g *goFunction) loop(n *ast.RangeStmt) {
	table, rows := g.table(n.X, 0)
	had, times := g.counts[assertions]+len(g.calls), g.times
	runs := g.runs
	g.times, g.loops, g.runs = min(times*max(rows, 1), 1<<20), g.loops+1, false
	g.block(n.Body)
	if rows > 0 && (g.runs || g.counts[assertions]+len(g.calls) > had) {
		g.counts[cases] += rows
		g.rows(table)
	}
	g.times, g.loops, g.runs = times, g.loops-1, g.runs || runs
}

// rows collects the values of a table, but for the names of its cases.
func (g *goFunction) rows(table *ast.CompositeLit) {
	var names []string
	if a, ok := table.Type.(*ast.ArrayType); ok {
		if s, ok := a.Elt.(*ast.StructType); ok {
			for _, f := range s.Fields.List {
				for _, n := range f.Names {
					names = append(names, n.Name)
				}
			}
		}
	}
	_, keyed := table.Type.(*ast.MapType)
	for _, e := range table.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok && keyed {
			e = kv.Value
		}
		row, ok := e.(*ast.CompositeLit)
		if !ok {
			g.values(e)
			continue
		}
		for i, v := range row.Elts {
			if i >= len(names) || !nameKey.MatchString(names[i]) {
				g.values(v)
			}
		}
	}
}
