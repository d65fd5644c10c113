package configs

import (
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

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

func (d *decoder) text(node ast.Node, into encoding.TextUnmarshaler, path string) {
	text, ok := scalarText(node)
	if !ok {
		d.refusef(path, nodePlace(node), "", "%s is not a plain value", label(path))
		return
	}
	if err := into.UnmarshalText([]byte(text)); err != nil {
		d.refusef(path, nodePlace(node), "", "%s: %v", label(path), err)
	}
}

func (d *decoder) scalar(node ast.Node, v reflect.Value, path string) {
	at := nodePlace(node)
	switch v.Kind() {
	case reflect.String:
		text, ok := scalarText(node)
		if !ok {
			d.refusef(path, at, "", "%s is not a text", label(path))
			return
		}
		v.SetString(text)
	case reflect.Int:
		n, ok := integer(node)
		if !ok {
			d.refusef(path, at, "", "%s is not a whole number", label(path))
			return
		}
		v.SetInt(n)
	case reflect.Float64:
		f, ok := number(node)
		if !ok {
			d.refusef(path, at, "", "%s is not a number", label(path))
			return
		}
		v.SetFloat(f)
	case reflect.Bool:
		b, ok := node.(*ast.BoolNode)
		if !ok {
			d.refusef(path, at, "", "%s is neither true nor false", label(path))
			return
		}
		v.SetBool(b.Value)
	default:
		d.refusef(path, at, "", "%s cannot be set from a file", label(path))
	}
}

func integer(node ast.Node) (int64, bool) {
	n, ok := node.(*ast.IntegerNode)
	if !ok {
		return 0, false
	}
	switch i := n.Value.(type) {
	case int64:
		return i, int64(int(i)) == i
	case uint64:
		return int64(i), i <= math.MaxInt // bounded by the second value
	}
	return 0, false
}

func number(node ast.Node) (float64, bool) {
	switch n := node.(type) {
	case *ast.FloatNode:
		return n.Value, !math.IsInf(n.Value, 0) && !math.IsNaN(n.Value)
	case *ast.IntegerNode:
		i, ok := integer(node)
		return float64(i), ok
	}
	return 0, false
}

// json keeps a value of any shape, such as a JSON Schema, as JSON text with sorted keys.
func (d *decoder) json(node ast.Node, v reflect.Value, path string) {
	faults := len(d.faults)
	value := d.free(node, path, 0)
	if len(d.faults) > faults {
		d.bad[path] = true
		return
	}
	text, err := json.Marshal(value)
	if err != nil {
		d.refusef(path, nodePlace(node), "", "%s: %v", label(path), err)
		return
	}
	v.SetBytes(text)
}

func (d *decoder) free(node ast.Node, path string, depth int) any {
	d.at[path] = nodePlace(node)
	if depth > maxDepth {
		d.refusef(path, nodePlace(node), "", "the values are nested more than %d deep", maxDepth)
		return nil
	}
	if pairs, ok := d.pairs(node); ok {
		table := make(map[string]any, len(pairs))
		for _, pair := range pairs {
			key := keyText(pair.Key)
			table[key] = d.free(pair.Value, join(path, key), depth+1)
		}
		return table
	}
	switch n := node.(type) {
	case *ast.SequenceNode:
		list := make([]any, len(n.Values))
		for i, elem := range n.Values {
			list[i] = d.free(elem, path, depth+1)
		}
		return list
	case *ast.NullNode:
		return nil
	case *ast.BoolNode:
		return n.Value
	case *ast.IntegerNode:
		return n.Value
	case *ast.FloatNode:
		return n.Value
	}
	if text, ok := scalarText(node); ok {
		return text
	}
	d.refusef(path, nodePlace(node), "", "%s is not a plain value", label(path))
	return nil
}

// fieldNames lists the keys that a struct can be written with, in the order of its declaration.
func fieldNames(t reflect.Type) []string {
	var names []string
	for f := range t.Fields() {
		if f.Anonymous {
			names = append(names, fieldNames(f.Type)...)
		} else if name := yamlName(f); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func fieldByName(v reflect.Value, name string) reflect.Value {
	for f, field := range v.Fields() {
		if f.Anonymous {
			if inner := fieldByName(field, name); inner.IsValid() {
				return inner
			}
		} else if yamlName(f) == name {
			return field
		}
	}
	return reflect.Value{}
}

func yamlName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	if name == "-" {
		return ""
	}
	return name
}
