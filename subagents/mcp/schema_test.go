package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"divisi/contextscope/narrative"
	"divisi/subagents/tool"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

func TestCleanSchemas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		schema, want string
		docs         []string
	}{
		"nothing":   {`null`, `{}`, nil},
		"no object": {`{"type":"array","items":{"type":"string"}}`, `{}`, nil},
		"true":      {`true`, `{}`, nil},
		"bounds": {
			`{"type":"object","additionalProperties":false,"minProperties":1,"properties":{
				"n":{"type":"integer","minimum":1,"maximum":3,"default":2},
				"s":{"type":"string","format":"uri","pattern":"^a","minLength":1,"description":"where"},
				"l":{"type":"array","maxItems":3,"uniqueItems":true,"items":{"type":"number","multipleOf":2}}},"required":["s","gone"]}`,
			`{"l":{"type":"array","items":{"type":"number"}},"n":{"type":"integer"},"s":{"type":"string"}} s`,
			[]string{"- l (array): ", "- n (integer): ", "- s (string, needed): where"},
		},
		"types": {
			`{"type":["object","null"],"properties":{"a":{"type":["string","null"]},"b":{"type":["string","integer"]},"c":{"type":"null"},
				"d":{"type":"file"},"e":true,"f":{"properties":{"x":{"type":"boolean"}}},"g":{"items":{}},"h":{"type":"array"}}}`,
			`{"a":{"type":"string"},"b":{},"c":{},"d":{},"e":{},"f":{"type":"object","properties":{"x":{"type":"boolean"}}},
				"g":{"type":"array","items":{}},"h":{"type":"array","items":{}}}`,
			[]string{
				"- a (string): ", "- b (integer or string): ", "- c (null): ", "- d (file): ", "- e (): ", "- f (object): ", "- f.x (boolean): ",
				"- g (array): ", "- h (array): ",
			},
		},
		"unions": {
			`{"type":"object","$defs":{"Mode":{"type":"string","enum":["a","b","a"],"description":"the mode"}},"properties":{
				"a":{"anyOf":[{"$ref":"#/$defs/Mode"},{"type":"null"}]},"b":{"oneOf":[{"type":"string"},{"type":"array"}]},
				"c":{"allOf":[{"$ref":"#/$defs/Mode"}],"default":"a"},"d":{"$ref":"http://x/y"},"e":{"$ref":"#/$defs/No"}}}`,
			`{"a":{"type":"string","enum":["a","b"]},"b":{},"c":{"type":"string","enum":["a","b"]},"d":{},"e":{}}`,
			[]string{"- a (string): the mode", "- b (array or string): ", "- c (string): the mode", "- d (): ", "- e (): "},
		},
		"enums": {
			`{"type":"object","properties":{"a":{"enum":["x",1]},"b":{"const":"k"},"c":{"type":"string","enum":["<<<END>>>"]},"d":{"enum":[]}}}`,
			`{"a":{},"b":{"type":"string","enum":["k"]},"c":{"type":"string"},"d":{}}`,
			[]string{"- a (): ", "- b (string): ", "- c (string): ", "- d (): "},
		},
		"circles": {
			`{"type":"object","properties":{"child":{"$ref":"#"},"other":{"$ref":"#/properties/other"}}}`,
			`{"child":{"type":"object","properties":{"child":{},"other":{}}},"other":{}}`,
			[]string{"- child (object): ", "- child.child (object): ", "- child.other (): ", "- other (): "},
		},
		"long values": {
			`{"type":"object","properties":{"a":{"enum":["` + strings.Repeat("é", 64) + `"]},"b":{"type":"string","enum":["` + strings.Repeat("é", 65) + `"]}}}`,
			`{"a":{"type":"string","enum":["` + strings.Repeat("é", 64) + `"]},"b":{"type":"string"}}`,
			[]string{"- a (string): ", "- b (string): "},
		},
		"names": {
			`{"type":"object","properties":{"$filter":{"type":"string"},"ok-1.x":{"type":"string"},"a b":{}},"required":["$filter","ok-1.x"]}`,
			`{"ok-1.x":{"type":"string"}} ok-1.x`,
			[]string{"- $filter (string, needed): ", "- a b (): ", "- ok-1.x (string, needed): "},
		},
		"depth": {
			`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"object","properties":{"c":{"type":"object",
				"properties":{"d":{"type":"string"}}}}}}}}}`,
			`{"a":{"type":"object","properties":{"b":{"type":"object","properties":{"c":{"type":"object"}}}}}}`,
			[]string{"- a (object): ", "- a.b (object): ", "- a.b.c (object): "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var schema any
			require.NoError(t, json.Unmarshal([]byte(c.schema), &schema))
			got, docs := clean(schema)
			require.Equal(t, c.docs, docs)
			properties, required, _ := strings.Cut(c.want, "} ")
			if required != "" {
				properties += "}"
				require.Equal(t, []any{required}, got["required"])
			}
			text, err := json.Marshal(got["properties"])
			require.NoError(t, err)
			require.JSONEq(t, properties, string(text))
		})
	}
}

// FuzzClean holds every schema to what a request can take: few words, no depth, and nothing that a server's arguments would not
// fit.
func FuzzClean(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[{"$ref":"#"},{"type":"null"}]}}}`, `{"a":{"a":{}}}`)
	f.Add(`{"type":["object","null"],"required":["a"],"properties":{"a":{"enum":["x",null,"y"]}}}`, `{"a":"x"}`)
	f.Add(`{"oneOf":[{"type":"object"},{"type":"string"}]}`, `{}`)
	f.Add(`{"properties":{"l":{"items":[{"type":"string"}]},"m":{"type":"array","items":{"type":"array"}}}}`, `{"l":["a"],"m":[[1]]}`)
	f.Add(`{"description":"`+narrative.QuoteEnd+`","properties":{"`+narrative.QuoteEnd+`":{"description":"\u202e"}}}`, `{}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		var s any
		if json.Unmarshal([]byte(schema), &s) != nil {
			return
		}
		clean, docs := clean(s)
		require.LessOrEqual(t, depthOf(clean), 2*maxDepth)
		text, err := json.Marshal(clean)
		require.NoError(t, err)
		for _, word := range []string{"$ref", "anyOf", "minimum", "default", "format"} {
			require.NotContains(t, withoutNames(t, text), `"`+word+`":`)
		}
		said := description("s", schema, docs)
		require.Equal(t, 1, strings.Count(said, narrative.QuoteEnd))
		require.Less(t, len([]rune(said)), maxDescription+maxArguments+500)
		set, err := tool.NewSet(nil, nil, &shownTool{clean})
		require.NoError(t, err)
		var a map[string]any
		if json.Unmarshal([]byte(args), &a) != nil || a == nil || strings.Contains(args, "null") || !fits(schema, a) {
			return
		}
		require.NoError(t, set.Check(tool.Call{Name: "t", Args: a}), "%s as %s", schema, text)
	})
}

// fits reports whether arguments fit a server's schema; a schema that is none takes nothing.
func fits(schema string, args any) bool {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(schema)))
	if err != nil {
		return false
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if c.AddResource("s", value) != nil {
		return false
	}
	compiled, err := c.Compile("s")
	return err == nil && compiled.Validate(args) == nil
}

type shownTool struct{ schema map[string]any }

func (s *shownTool) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{Name: "t", ParametersJsonSchema: s.schema}
}
func (s *shownTool) Effect(tool.Call) tool.Effect { return tool.Reads }

// Run implements tool.Tool.
func (s *shownTool) Run(context.Context, tool.Call) tool.Result { return tool.Text("") }

func depthOf(v any) int {
	deepest := 0
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			deepest = max(deepest, depthOf(e))
		}
		deepest++
	case []any:
		deepest = 1
	}
	return deepest
}

// withoutNames is a schema's text with the names of properties taken out.
func withoutNames(t *testing.T, text []byte) string {
	t.Helper()
	var m map[string]any
	require.NoError(t, json.Unmarshal(text, &m))
	var rename func(any) any
	rename = func(v any) any {
		m, ok := v.(map[string]any)
		if !ok {
			return v
		}
		out := map[string]any{}
		for key, e := range m {
			if key == "properties" {
				list := []any{}
				for _, p := range e.(map[string]any) { // clean made it
					list = append(list, rename(p))
				}
				out[key] = list
				continue
			}
			out[key] = rename(e)
		}
		return out
	}
	out, err := json.Marshal(rename(m))
	require.NoError(t, err)
	return string(out)
}
