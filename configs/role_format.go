package configs

import (
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"divisi/internal/spec"
)

// FormatRole writes a role as a role file that ParseRole reads as the same role.
func FormatRole(r spec.Role) (string, error) {
	body := r.Instruction
	r.Instruction, r.Source, r.Named, r.Notices = "", "", "", nil
	node, err := yaml.ValueToNode(r, yaml.IndentSequence(true), yaml.UseLiteralStyleIfMultiline(true))
	if err != nil {
		return "", fmt.Errorf("write the role as YAML: %w", err)
	}
	ast.Walk(quoter{}, node)
	return "---\n" + blankLine.ReplaceAllString(node.String(), "") + "\n---\n" + body + "\n", nil
}
