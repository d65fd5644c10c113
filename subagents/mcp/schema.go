package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"divisi/internal/lazyregexp"
	"divisi/internal/text"
)

// Bounds of a schema as models are shown it. Gemini refuses deep, large and bounded ones, with every other tool of the request.
const (
	maxDepth      = 4
	maxNodes      = 150
	maxProperties = 64
	maxEnum       = 64
	maxSchema     = 256 << 10 // bytes as JSON; nothing of a larger one is shown
	maxPath       = 100       // characters of a property's path, and of its types
	maxText       = 300       // characters of its description
	maxValue      = 64        // characters of a value of an enum
)

// A property or a value of an enum that is not of this form is told in words only: it could say anything.
var (
	plainProperty = lazyregexp.New(`^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$`)
	plainValue    = lazyregexp.New(`^[\p{L}\p{N} _.,:;/@+#*()-]+$`) // of at most maxValue characters: a count costs 2 MB here
)

// cleaner makes of a server's schema one that says less and that every service takes: types, properties, what is required, and
// short enums of text. References are followed; bounds, formats, patterns, defaults and unions are dropped, and so is everything
// too deep or too much. Whatever fits the server's schema fits it, but for a null where the server takes either. The server
// judges the rest itself.
type cleaner struct {
	root map[string]any
	left int
	// docs says in words what the properties are, one a line: it belongs between markers.
	docs []string
}

// clean returns the schema of a tool's arguments, always an object's, and the words about them.
func clean(schema any) (arguments map[string]any, docs []string) {
	root, _ := schema.(map[string]any)
	if text, err := json.Marshal(root); err != nil || len(text) > maxSchema {
		root = nil
	}
	c := &cleaner{root: root, left: maxNodes}
	arguments = c.value(root, "", 1, nil)
	if arguments["type"] != "object" {
		arguments = map[string]any{"type": "object"}
	}
	if arguments["properties"] == nil {
		arguments["properties"] = map[string]any{}
	}
	return arguments, c.docs
}

// value cleans one schema; path leads to it, refs are the references that led here. What cannot be said is an empty schema.
func (c *cleaner) value(schema any, path string, depth int, refs []string) map[string]any {
	m, refs := c.meant(schema, refs)
	if c.left--; c.left < 0 || m == nil {
		return map[string]any{}
	}
	switch kind := kindOf(m); kind {
	case "object":
		return c.object(m, path, depth, refs)
	case "array":
		items := map[string]any{}
		if depth < maxDepth {
			items = c.value(m["items"], path+"[]", depth+1, refs)
		}
		return map[string]any{"type": kind, "items": items}
	case "string":
		if enum := enumOf(m); enum != nil {
			return map[string]any{"type": kind, "enum": enum}
		}
		return map[string]any{"type": kind}
	case "integer", "number", "boolean":
		return map[string]any{"type": kind}
	}
	return map[string]any{}
}

func (c *cleaner) object(m map[string]any, path string, depth int, refs []string) map[string]any {
	out := map[string]any{"type": "object"}
	properties, _ := m["properties"].(map[string]any)
	if depth >= maxDepth || len(properties) == 0 {
		return out
	}
	required := texts(m["required"])
	kept, needed := map[string]any{}, []any{}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		at, must := strings.TrimPrefix(path+"."+name, "."), slices.Contains(required, name)
		c.describe(at, properties[name], must)
		if !plainProperty.MatchString(name) || len(kept) == maxProperties {
			continue
		}
		kept[name] = c.value(properties[name], at, depth+1, refs)
		if must {
			needed = append(needed, name)
		}
	}
	if len(kept) > 0 {
		out["properties"] = kept
	}
	if len(needed) > 0 {
		out["required"] = needed
	}
	return out
}

// describe adds a line about a property: its path, its types, whether it is needed, and what the server says of it.
func (c *cleaner) describe(path string, schema any, needed bool) {
	if len(c.docs) >= maxNodes {
		return
	}
	own, _ := schema.(map[string]any)
	meant, _ := c.meant(schema, nil)
	facts := kinds(own)
	if len(facts) == 0 {
		facts = kinds(meant)
	}
	about, _ := own["description"].(string)
	if about == "" {
		about, _ = meant["description"].(string)
	}
	fact := strings.Join(facts, " or ")
	if needed {
		fact = strings.TrimPrefix(fact+", needed", ", ")
	}
	path, fact = text.Short(oneLine(path), maxPath), text.Short(oneLine(fact), maxPath)
	about = text.Short(oneLine(about), maxText)
	c.docs = append(c.docs, fmt.Sprintf("- %s (%s): %s", path, fact, about))
}

// meant follows references, and unions of one schema and null, to the schema that says something; nil where nothing does.
func (c *cleaner) meant(schema any, refs []string) (map[string]any, []string) {
	for range maxNodes {
		m, ok := schema.(map[string]any)
		if !ok {
			return nil, refs
		}
		ref, isRef := m["$ref"].(string)
		switch variants := variantsOf(m); {
		case isRef && slices.Contains(refs, ref):
			return nil, refs // it holds itself
		case isRef:
			schema, refs = c.lookup(ref), append(slices.Clone(refs), ref)
		case kindOf(m) == "" && len(variants) == 1:
			schema = variants[0]
		default:
			return m, refs
		}
	}
	return nil, refs
}

// lookup finds what a reference into the schema itself points to.
func (c *cleaner) lookup(ref string) any {
	rest, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	var at any = c.root
	for part := range strings.SplitSeq(strings.TrimPrefix(rest, "/"), "/") {
		if part == "" {
			continue
		}
		m, _ := at.(map[string]any)
		at = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	return at
}

// variantsOf are the alternatives of a union, or the one part of an intersection, without null.
func variantsOf(m map[string]any) []any {
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		list, _ := m[key].([]any)
		if len(list) == 0 || key == "allOf" && len(list) > 1 {
			continue
		}
		return slices.DeleteFunc(slices.Clone(list), func(v any) bool {
			variant, _ := v.(map[string]any)
			return variant["type"] == "null"
		})
	}
	return nil
}

// kindOf is the one type that a schema allows beside null, also where only its other words report which; "" when it is not one.
func kindOf(m map[string]any) string {
	var types []string
	switch t := m["type"].(type) {
	case string:
		types = []string{t}
	case []any:
		types = slices.DeleteFunc(texts(t), func(s string) bool { return s == "null" })
	}
	switch {
	case len(types) == 1:
		return types[0]
	case len(types) > 1:
		return ""
	case m["properties"] != nil:
		return "object"
	case m["items"] != nil:
		return "array"
	case enumOf(m) != nil:
		return "string"
	}
	return ""
}

// kinds are the types that a schema allows, for people and models to read.
func kinds(m map[string]any) []string {
	if kind := kindOf(m); kind != "" {
		return []string{kind}
	}
	list := texts(m["type"])
	for _, v := range variantsOf(m) {
		if variant, ok := v.(map[string]any); ok {
			list = append(list, kindOf(variant))
		}
	}
	list = slices.DeleteFunc(list, func(s string) bool { return s == "" || s == "null" })
	slices.Sort(list)
	return slices.Compact(list)
}

// enumOf returns the values that a text may have, nil where there is no such list or where it could say anything.
func enumOf(m map[string]any) []any {
	values, _ := m["enum"].([]any)
	if constant, ok := m["const"].(string); ok {
		values = []any{constant}
	}
	if len(values) == 0 || len(values) > maxEnum {
		return nil
	}
	seen := map[string]bool{}
	var enum []any
	for _, value := range values {
		text, ok := value.(string)
		if !ok || utf8.RuneCountInString(text) > maxValue || !plainValue.MatchString(text) {
			return nil
		}
		if !seen[text] {
			seen[text], enum = true, append(enum, text)
		}
	}
	return enum
}

func texts(value any) []string {
	list, _ := value.([]any)
	var out []string
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
