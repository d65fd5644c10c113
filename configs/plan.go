package configs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
)

// Positions knows where in a plan file each value stands, so that what is found wrong later still has a place.
type Positions struct{ document *document }

// Error returns the problems as a *FileError with line, column and source line, or nil when there are none. It can be
// called again with other problems.
func (p *Positions) Error(problems []spec.Problem) error {
	d := *p.document
	d.faults = append([]Fault(nil), p.document.faults...)
	d.problems(problems)
	return d.err()
}

// ParsePlan reads a plan from text. The file is only named, for messages. Its fields and their types are checked, not what they
// mean. The error is a *FileError with every fault; the positions are valid also then.
func ParsePlan(file, text string) (spec.Plan, *Positions, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	d := newDocument(file, text)
	var plan spec.Plan
	d.read(text, planSchema(), &plan)
	return plan, &Positions{d}, d.err()
}

// FormatPlan writes a plan as a plan file that ParsePlan reads as the same plan. Fields are in the order of docs/plan.md, empty
// ones are left out, but for inputs: [], and texts of several lines are blocks. What only code sets is not written.
func FormatPlan(p spec.Plan) (string, error) {
	p.Tasks = slices.Clone(p.Tasks)
	for i := range p.Tasks {
		p.Tasks[i].ShardOf, p.Tasks[i].Rule, p.Tasks[i].Unlocked = "", nil, nil
	}
	node, err := yaml.ValueToNode(p, yaml.IndentSequence(true), yaml.UseLiteralStyleIfMultiline(true))
	if err != nil {
		return "", fmt.Errorf("write the plan as YAML: %w", err)
	}
	ast.Walk(quoter{}, node)
	return blankLine.ReplaceAllString(node.String(), "") + "\n", nil
}

// blankLine is a line that the library indents although it is empty.
var blankLine = lazyregexp.New(`(?m)^ +$`)

// quoter puts in quotes the texts that the library would write in a form that reads as another text.
type quoter struct{}

// Visit implements ast.Visitor.
func (q quoter) Visit(node ast.Node) ast.Visitor {
	if s, ok := node.(*ast.StringNode); ok && misread.MatchString(s.Value) {
		s.Value = strconv.Quote(s.Value)
	}
	return q
}

// misread matches a text with a control character, one line with a tab or a question mark in front, and a block that begins with
// white space, ends with a blank, or has a line of blanks alone. What the library has quoted has none of these.
var misread = lazyregexp.New(`[^\PC\t\n]|^[^\n]*\t[^\n]*$|^\?\s|^\s|\n[ \t]+\n|[ \t]\n*$`)
