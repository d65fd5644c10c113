package configs

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"

	"github.com/goccy/go-yaml/ast"
	"github.com/google/jsonschema-go/jsonschema"
)

// into sets a Go value from a node that a schema describes. What has not the form of the schema stays zero and is a fault.
func (d *document) into(node ast.Node, schema *jsonschema.Schema, target any) {
	text, err := json.Marshal(d.value(node, schema, "", 0))
	if err == nil {
		err = json.Unmarshal(text, target)
	}
	if err != nil {
		d.refusef("", place{}, "", "the values cannot be read: %v", err)
	}
}

// value returns what a node holds as JSON has it. It continues after a fault, so that a person sees all of them at once. It
// accepts no unknown fields, no second meaning of a value and no anchors. A schema without a type accepts every form.
func (d *document) value(node ast.Node, s *jsonschema.Schema, path string, depth int) any {
	at := nodePlace(node)
	d.at[path] = at
	switch node.(type) {
	case *ast.AnchorNode, *ast.AliasNode:
		return d.refusef(path, at, "", "anchors and aliases are not read here: write the value out")
	case *ast.TagNode:
		return d.refusef(path, at, "", "tags are not read here")
	case *ast.NullNode:
		return nil
	}
	if depth > maxDepth {
		return d.refusef(path, at, "", "the values are nested more than %d deep", maxDepth)
	}
	_, isList := node.(*ast.SequenceNode)
	pairs, isTable := d.pairs(node)
	switch {
	case len(s.AnyOf) > 0 && isTable && s.AnyOf[1].Type != "object":
		return d.refusef(path, at, "", "%s is neither a text nor a list", label(path))
	case len(s.AnyOf) > 0:
		form := s.AnyOf[0]
		if isTable || isList && form.Type != "array" {
			form = s.AnyOf[1]
		}
		return d.value(node, form, path, depth)
	case s.Type == "object", s.Type == "" && isTable:
		if !isTable {
			return d.noTable(at, s, path)
		}
		return d.table(pairs, s, path, depth)
	case s.Type == "array", s.Type == "" && isList:
		return d.list(node, s, path, depth)
	}
	return d.scalar(node, s, path)
}

// pairs returns the entries of a mapping whose keys are plain and unique.
func (d *document) pairs(node ast.Node) (pairs []*ast.MappingValueNode, ok bool) {
	var all []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		all = n.Values
	case *ast.MappingValueNode:
		all = []*ast.MappingValueNode{n}
	default:
		return nil, false
	}
	seen := map[string]place{}
	for _, pair := range all {
		at := nodePlace(pair.Key)
		if _, plain := pair.Key.(ast.ScalarNode); !plain || pair.Key.Type() == ast.MergeKeyType {
			d.faultf(at, "", "only plain keys are read here")
			continue
		}
		key := keyText(pair.Key)
		if first, twice := seen[key]; twice {
			d.faultf(at, "", "field %q is here twice, first in line %d", key, first.line)
			continue
		}
		seen[key] = at
		pairs = append(pairs, pair)
	}
	return pairs, true
}

func keyText(key ast.MapKeyNode) string {
	if s, ok := key.(*ast.StringNode); ok {
		return s.Value
	}
	return key.GetToken().Value
}

func (d *document) noTable(at place, s *jsonschema.Schema, path string) any {
	if len(s.Properties) == 0 {
		return d.refusef(path, at, "", "%s is not a table of names", label(path))
	}
	return d.refusef(path, at, "", "%s is not a set of fields: it has the fields %s", label(path),
		strings.Join(s.PropertyOrder, ", "))
}

func (d *document) table(pairs []*ast.MappingValueNode, s *jsonschema.Schema, path string, depth int) any {
	faults := len(d.faults)
	table := make(map[string]any, len(pairs))
	var meant []string
	for _, pair := range pairs {
		key := keyText(pair.Key)
		at := join(path, key)
		if !strings.Contains(path, "[") {
			d.keys[at] = nodePlace(pair.Key).line
		}
		field := s.Properties[key]
		switch {
		case field != nil:
			if value := d.value(pair.Value, field, at, depth+1); value != nil {
				table[key] = value
			}
		case len(s.Properties) > 0:
			meant = append(meant, join(path, d.unknown(nodePlace(pair.Key), key, s.PropertyOrder)))
		case s.AdditionalProperties != nil:
			table[key] = d.value(pair.Value, s.AdditionalProperties, at, depth+1)
			if s.AdditionalProperties.Type == "object" { // what is wrong with the whole is wrong with what the name means
				d.at[at] = nodePlace(pair.Key)
			}
		default:
			table[key] = d.value(pair.Value, &jsonschema.Schema{}, at, depth+1)
			d.bad[path] = len(d.faults) > faults
		}
	}
	for _, field := range meant { // what was mistyped is not missing as well
		if _, given := d.at[field]; !given {
			d.bad[field] = true
		}
	}
	return table
}

// unknown faults a field that there is not, and returns the field that was most likely meant.
func (d *document) unknown(at place, key string, names []string) (near string) {
	if gone := spec.Removed("field", key); gone != "" {
		d.faultf(at, "", "%s", gone)
		return ""
	}
	near = spec.Nearest(key, names)
	d.faultf(at, near, "unknown field %q; the fields are %s", key, strings.Join(names, ", "))
	return near
}

func (d *document) list(node ast.Node, s *jsonschema.Schema, path string, depth int) any {
	seq, ok := node.(*ast.SequenceNode)
	if !ok {
		return d.refusef(path, nodePlace(node), asList(node, s.Items, path), "%s is not a list", label(path))
	}
	list := make([]any, len(seq.Values))
	for i, elem := range seq.Values {
		at := fmt.Sprintf("%s[%d]", path, i)
		_, null := elem.(*ast.NullNode)
		switch {
		case s.Items == nil:
			list[i] = d.value(elem, &jsonschema.Schema{}, at, depth+1)
		case null:
			d.refusef(at, nodePlace(elem), "", "%s is empty", label(at))
		default:
			list[i] = d.value(elem, s.Items, at, depth+1)
		}
	}
	return list
}

func (d *document) scalar(node ast.Node, s *jsonschema.Schema, path string) any {
	text, plain := scalarText(node)
	var value any
	ok, want := plain, "a text"
	switch s.Type {
	case "string":
		value = text
		if s.Pattern != "" && plain { // a duration, or a budget
			read := new(spec.Duration).UnmarshalText
			if s.Pattern == spec.BudgetPattern {
				read = new(spec.Budget).UnmarshalText
			}
			if err := read([]byte(text)); err != nil {
				return d.refusef(path, nodePlace(node), "", "%s: %v", label(path), err)
			}
		}
	case "boolean":
		var b *ast.BoolNode
		if b, ok = node.(*ast.BoolNode); !ok {
			return d.refusef(path, nodePlace(node), "", "%s is neither true nor false", label(path))
		}
		value = b.Value
	case "integer":
		value, ok = integer(node)
		want = "a whole number"
	case "number":
		value, ok = number(node)
		want = "a number"
	default:
		value, ok = anyScalar(node)
		want = "a plain value"
	}
	if !ok {
		return d.refusef(path, nodePlace(node), "", "%s is not %s", label(path), want)
	}
	return value
}

// scalarText is a scalar as it was written; false for lists and mappings.
func scalarText(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func anyScalar(node ast.Node) (any, bool) {
	switch n := node.(type) {
	case *ast.BoolNode:
		return n.Value, true
	case *ast.IntegerNode:
		return n.Value, true
	case *ast.FloatNode:
		return number(node)
	}
	return scalarText(node)
}

func integer(node ast.Node) (any, bool) {
	n, ok := node.(*ast.IntegerNode)
	if !ok {
		return nil, false
	}
	switch i := n.Value.(type) {
	case int64:
		return i, int64(int(i)) == i
	case uint64:
		return i, i <= math.MaxInt
	}
	return nil, false
}

func number(node ast.Node) (any, bool) {
	if n, ok := node.(*ast.FloatNode); ok {
		return n.Value, !math.IsInf(n.Value, 0) && !math.IsNaN(n.Value)
	}
	return integer(node)
}

// asList shows how a lone scalar is written as a list of texts; a command is split into its words, unless it is a shell's.
func asList(node ast.Node, items *jsonschema.Schema, path string) string {
	text, ok := scalarText(node)
	if !ok || items.Type != "string" || strings.Contains(text, "\n") {
		return ""
	}
	words := []string{text}
	if path == "setup" || path == "command" || strings.HasSuffix(path, ".command") {
		if strings.ContainsAny(text, "\"'$`|&;<>\\") {
			return ""
		}
		words = strings.Fields(text)
	}
	for i, word := range words {
		words[i] = flowWord(word)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// plainWord matches text without a meaning of its own inside brackets; there are more such texts, which lose nothing by quotes.
var plainWord = lazyregexp.New(`^-?[A-Za-z0-9_./][A-Za-z0-9_./*+=@%~^-]*$`)

// flowWord writes a text as an element of a list in brackets.
func flowWord(text string) string {
	if plainWord.MatchString(text) && !strings.EqualFold(text, "null") {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

func label(path string) string {
	if path == "" {
		return "the file"
	}
	return path
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
