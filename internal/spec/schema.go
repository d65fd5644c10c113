package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	validation "github.com/santhosh-tekuri/jsonschema/v6"
)

const durationPattern = `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`

// Schema returns the JSON Schema of a struct that a person or a model writes, from the tags of its fields: json names a field
// and states whether it is optional, jsonschema describes it, enum lists its words, minimum is its least value, and file:"-"
// keeps it for code. A struct whose tags make no schema is a mistake in the program, and panics.
func Schema[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[Duration]():        {Type: "string", Pattern: durationPattern},
		reflect.TypeFor[Budget]():          {Type: "string", Pattern: BudgetPattern},
		reflect.TypeFor[json.RawMessage](): {Type: "object"},
	}})
	if err != nil {
		panic(fmt.Sprintf("schema of %s: %v", reflect.TypeFor[T](), err))
	}
	applyTags(s, reflect.TypeFor[T]())
	return s
}

// Declaration returns the schema of a tool's arguments twice: as a model is shown it, and as its arguments are checked against
// it. The shown one has no bounds, which models follow badly, and does not refuse unknown fields: a model that names one is told.
func Declaration[T any]() (shown, checked map[string]any) {
	s := Schema[T]()
	checked = asMap(s)
	EachSchema(s, func(s *jsonschema.Schema) { s.Pattern, s.Minimum, s.AdditionalProperties = "", nil, nil })
	return asMap(s), checked
}

func asMap(s *jsonschema.Schema) (out map[string]any) {
	text, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(fmt.Sprintf("write a schema: %v", err))
	}
	return out
}

// EachSchema calls f for a schema and every schema inside it, the inner ones first.
func EachSchema(s *jsonschema.Schema, f func(*jsonschema.Schema)) {
	for _, property := range s.Properties {
		EachSchema(property, f)
	}
	for _, inner := range append([]*jsonschema.Schema{s.Items, s.AdditionalProperties}, s.AnyOf...) {
		if inner != nil {
			EachSchema(inner, f)
		}
	}
	f(s)
}

func applyTags(s *jsonschema.Schema, t reflect.Type) {
	if len(s.Types) > 0 { // the library lets slices and pointers be null
		s.Type, s.Types = s.Types[len(s.Types)-1], nil
	}
	switch {
	case t.Kind() == reflect.Pointer:
		applyTags(s, t.Elem())
	case s.Items != nil:
		applyTags(s.Items, t.Elem())
	case t.Kind() == reflect.Map:
		applyTags(s.AdditionalProperties, t.Elem())
	case t.Kind() == reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			applyFieldTags(s, f)
		}
	}
}

func applyFieldTags(s *jsonschema.Schema, f reflect.StructField) {
	name := fieldName(f)
	property := s.Properties[name]
	switch {
	case property == nil || f.Anonymous:
		return
	case f.Tag.Get("file") == "-":
		delete(s.Properties, name)
		s.PropertyOrder = slices.DeleteFunc(s.PropertyOrder, func(n string) bool { return n == name })
		return
	}
	applyTags(property, f.Type)
	if least, ok := minimum(f); ok {
		property.Minimum = new(float64(least))
	}
	if property.Items != nil {
		property = property.Items
	}
	for _, word := range words(f) {
		property.Enum = append(property.Enum, word)
	}
}

func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func words(f reflect.StructField) []string {
	return strings.FieldsFunc(f.Tag.Get("enum"), func(r rune) bool { return r == ',' })
}

func minimum(f reflect.StructField) (int, bool) {
	least, err := strconv.Atoi(f.Tag.Get("minimum"))
	return least, err == nil
}

// values faults what the tags of a struct and of the structs inside it rule out: words outside an enum, numbers below their
// minimum, which is 0 for whole numbers, and negative durations. A zero passes: it is what a file leaves out.
func (p *problems) values(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			p.values(path, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			p.values(fmt.Sprintf("%s[%d]", path, i), v.Index(i))
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, key := range keys {
			p.values(path+"."+key.String(), v.MapIndex(key))
		}
	case reflect.Struct:
		for f, field := range v.Fields() {
			at := strings.TrimPrefix(path+"."+fieldName(f), ".")
			p.value(at, f, field)
			p.values(at, field)
		}
	}
}

func (p *problems) value(at string, f reflect.StructField, v reflect.Value) {
	least, bounded := minimum(f)
	switch x := v.Interface().(type) {
	case Duration:
		if x < 0 {
			p.addf(at, "", "%s is negative", x)
		}
	case int:
		if x != 0 {
			p.atLeast(at, x, least)
		}
	case float64:
		if bounded && !(x >= float64(least)) {
			p.addf(at, "", "%v is not a number of at least %d", x, least)
		}
	default:
		if set := words(f); len(set) > 0 && v.Kind() == reflect.String {
			p.oneOf(at, fieldName(f), v.String(), set...)
		}
	}
}

// noLoader keeps a schema from naming files or addresses that would be opened.
type noLoader struct{}

// Load refuses.
func (noLoader) Load(string) (any, error) {
	return nil, errors.New("schemas are not loaded from elsewhere")
}

// CompileSchema reads a JSON Schema that checks values. name is its place in error messages. It opens nothing that the schema
// names.
func CompileSchema(name string, text []byte) (*validation.Schema, error) {
	value, err := validation.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	compiler := validation.NewCompiler()
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource(name, value); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return compiler.Compile(name)
}

// JSON writes a value with sorted keys, without white space and without the escapes that only web pages need: code stays
// readable as code, and costs fewer tokens.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// JSONText is JSON for texts that are shown. What JSON cannot hold (NaN, a channel) is printed as Go prints it, which sorts keys
// too.
func JSONText(v any) string {
	data, err := JSON(v)
	if err != nil {
		return fmt.Sprintf("%v", v)
	}
	return string(data)
}
