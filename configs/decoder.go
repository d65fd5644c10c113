package configs

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"divisi/internal/spec"

	"github.com/goccy/go-yaml/ast"
)

// decoder sets Go values from YAML nodes. Unlike the library's own decoder it goes on after a fault, so that a person
// sees all of them at once, and takes nothing for granted: no unknown fields, no second meaning of a value, no anchors.
type decoder struct{ *document }

var jsonType = reflect.TypeFor[json.RawMessage]()

// oneOrMore is a list that a file may write as a lone value where it has one element.
type oneOrMore []string

var oneOrMoreType = reflect.TypeFor[oneOrMore]()

func (d *decoder) into(node ast.Node, target any) {
	d.value(node, reflect.ValueOf(target).Elem(), "", 0)
}

func (d *decoder) value(node ast.Node, v reflect.Value, path string, depth int) {
	at := nodePlace(node)
	d.at[path] = at
	switch node.(type) {
	case *ast.AnchorNode, *ast.AliasNode:
		d.refusef(path, at, "", "anchors and aliases are not read here: write the value out")
		return
	case *ast.TagNode:
		d.refusef(path, at, "", "tags are not read here")
		return
	case *ast.NullNode:
		return
	}
	if depth > maxDepth {
		d.refusef(path, at, "", "the values are nested more than %d deep", maxDepth)
		return
	}
	text, isText := asText(v)
	switch {
	case v.Type() == jsonType:
		d.json(node, v, path)
	case isText:
		d.text(node, text, path)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(node, v.Elem(), path, depth+1)
	case v.Kind() == reflect.Struct:
		d.structure(node, v, path, depth)
	case v.Kind() == reflect.Map:
		d.table(node, v, path, depth)
	case v.Type() == oneOrMoreType && node.Type() != ast.SequenceType:
		d.one(node, v, path)
	case v.Kind() == reflect.Slice:
		d.list(node, v, path, depth)
	default:
		d.scalar(node, v, path)
	}
}

// asText is the value as something that reads itself from text.
func asText(v reflect.Value) (encoding.TextUnmarshaler, bool) {
	if !v.CanAddr() {
		return nil, false
	}
	text, ok := v.Addr().Interface().(encoding.TextUnmarshaler)
	return text, ok
}

// pairs returns the entries of a mapping whose keys are plain and unique.
func (d *decoder) pairs(node ast.Node) (pairs []*ast.MappingValueNode, ok bool) {
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
			d.faultf(at, "", "field %q stands here twice, first in line %d", key, first.line)
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

func (d *decoder) structure(node ast.Node, v reflect.Value, path string, depth int) {
	pairs, ok := d.pairs(node)
	if !ok {
		d.refusef(path, nodePlace(node), "", "%s is not a set of fields: it has the fields %s",
			label(path), strings.Join(fieldNames(v.Type()), ", "))
		return
	}
	names := fieldNames(v.Type())
	var meant []string
	for _, pair := range pairs {
		key := keyText(pair.Key)
		field := fieldByName(v, key)
		if !field.IsValid() {
			near := spec.Nearest(key, names)
			if near != "" {
				meant = append(meant, join(path, near))
			}
			d.faultf(nodePlace(pair.Key), near, "unknown field %q; the fields are %s", key, strings.Join(names, ", "))
			continue
		}
		d.value(pair.Value, field, join(path, key), depth+1)
	}
	for _, field := range meant { // what was mistyped is not missing as well
		if _, given := d.at[field]; !given {
			d.bad[field] = true
		}
	}
}

func (d *decoder) table(node ast.Node, v reflect.Value, path string, depth int) {
	pairs, ok := d.pairs(node)
	if !ok {
		d.refusef(path, nodePlace(node), "", "%s is not a table of names", label(path))
		return
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), len(pairs)))
	for _, pair := range pairs {
		elem := reflect.New(v.Type().Elem()).Elem()
		at := join(path, keyText(pair.Key))
		d.value(pair.Value, elem, at, depth+1)
		if elem.Kind() == reflect.Struct { // what is wrong with the whole is wrong with what the name stands for
			d.at[at] = nodePlace(pair.Key)
		}
		v.SetMapIndex(reflect.ValueOf(keyText(pair.Key)), elem)
	}
}

func (d *decoder) list(node ast.Node, v reflect.Value, path string, depth int) {
	seq, ok := node.(*ast.SequenceNode)
	if !ok {
		d.refusef(path, nodePlace(node), asList(node, v.Type().Elem(), path), "%s is not a list", label(path))
		return
	}
	list := reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values))
	for i, elem := range seq.Values {
		at := fmt.Sprintf("%s[%d]", path, i)
		if _, null := elem.(*ast.NullNode); null {
			d.refusef(at, nodePlace(elem), "", "%s is empty", label(at))
			continue
		}
		d.value(elem, list.Index(i), at, depth+1)
	}
	v.Set(list)
}

// one sets a list from the lone value that stands in its place.
func (d *decoder) one(node ast.Node, v reflect.Value, path string) {
	text, ok := scalarText(node)
	if !ok {
		d.refusef(path, nodePlace(node), "", "%s is neither a text nor a list", label(path))
		return
	}
	v.Set(reflect.ValueOf(oneOrMore{text}))
}

// asList shows how a lone scalar is written as a list of texts; a command is split into its words, unless it is a shell's.
func asList(node ast.Node, elem reflect.Type, path string) string {
	text, ok := scalarText(node)
	if !ok || elem.Kind() != reflect.String || strings.Contains(text, "\n") {
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

// plainWord is what means itself inside brackets; there are more such texts, which lose nothing by quotes.
var plainWord = regexp.MustCompile(`^-?[A-Za-z0-9_./][A-Za-z0-9_./*+=@%~^-]*$`)

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
