package configs

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"divisi/internal/spec"

	jsonschemago "github.com/google/jsonschema-go/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// editorSchema compiles the schema of a kind as an editor would: from its JSON, by the draft that it names.
func editorSchema(t *testing.T, kind string) *jsonschema.Schema {
	t.Helper()
	text, err := json.Marshal(Schema(kind))
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	require.NoError(t, compiler.AddResource(kind, value))
	schema, err := compiler.Compile(kind)
	require.NoError(t, err)
	require.Equal(t, 2020, schema.DraftVersion)
	return schema
}

// yamlValue is a YAML text as an editor sees it.
func yamlValue(t *testing.T, text string) any {
	t.Helper()
	d := newDocument("x", text)
	body := d.parse(text)
	if body == nil {
		require.NoError(t, d.err())
		return map[string]any{}
	}
	value := d.value(body, &jsonschemago.Schema{}, "", 0)
	require.NoError(t, d.err())
	data, err := json.Marshal(value)
	require.NoError(t, err)
	plain, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
	require.NoError(t, err)
	return plain
}

func TestSchemasTakeEveryFileHere(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	take := func(kind, name, text string) {
		require.NoError(t, editorSchema(t, kind).Validate(yamlValue(t, text)), name)
		seen[kind]++
	}
	roles, err := fs.Glob(embedded, "roles/*.md")
	require.NoError(t, err)
	for _, name := range roles {
		text, err := embedded.ReadFile(name)
		require.NoError(t, err)
		front, _, ok := frontMatter(strings.Split(string(text), "\n"))
		require.True(t, ok)
		take("role", name, front)
	}
	for name, kind := range map[string]string{
		"divisi.yaml": "project", "../orchestrator/sample/tree/base/divisi.yaml.tmpl": "project",
		"../cmd/divisi/testdata/repo/.divisi/divisi.yaml": "project",
		"../orchestrator/sample/tree/plan.yaml":           "plan", "../cmd/divisi/testdata/plan.yaml": "plan",
	} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		take(kind, name, string(text))
	}
	for _, page := range []string{"../docs/roles.md", "../docs/project.md", "../docs/plan.md", "../docs/mcp.md", "../README.md"} {
		for kind, text := range examples(t, page) {
			take(kind, page, text)
		}
	}
	require.GreaterOrEqual(t, seen["role"], 6)
	require.GreaterOrEqual(t, seen["project"], 5)
	require.GreaterOrEqual(t, seen["plan"], 3)
	require.Equal(t, 1, seen["policy"])
}

// examples yields the files that a page of the documentation shows.
func examples(t *testing.T, page string) func(yield func(kind, text string) bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Clean(page))
	require.NoError(t, err)
	return func(yield func(kind, text string) bool) {
		for i, block := range strings.Split(string(text), "\n```") {
			_, body, _ := strings.Cut(block, "\n")
			front, _, isRole := frontMatter(strings.Split(body, "\n"))
			kind, value := "", body
			switch {
			case i%2 == 0:
			case isRole:
				kind, value = "role", front
			case strings.Contains(body, "\npreset:"):
				kind = "policy"
			case strings.Contains(body, "\ntasks:"):
				kind = "plan"
			case strings.HasPrefix(block, "yaml\nsetup:"), strings.HasPrefix(block, "yaml\n# .divisi/divisi.yaml"):
				kind = "project"
			}
			if kind != "" && !yield(kind, value) {
				return
			}
		}
	}
}

func TestSchemasRefuseWhatTheLoaderRefuses(t *testing.T) {
	t.Parallel()
	for kind, texts := range map[string][]string{
		"role": {
			"modell: x", "executor: modell", "executor: [command, command]", "tools: [serch]", "limits: {turns: many}",
			"limits: {time: 10}", "writes: maybe", "narrative: plane", "tools: search", "output: []", "mcp_servers: {a: {comand: [x]}}",
		},
		"project": {
			"gatse: []", "gates: [{name: a}]", "models: {a: {provider: other, name: x}}", "models: {a: {provider: gemini}}", "parallel: two",
			"mcp_servers: {a: {env: {A: b}}}", "delegation: {deep: 1}",
		},
		"plan": {"tasks: [{id: a, role: b}]", "tasks: [{id: a, role: b, brief: c, shard: {bye: file}}]", "goals: x\ntasks: []"},
	} {
		for _, text := range texts {
			require.Error(t, editorSchema(t, kind).Validate(yamlValue(t, text)), text)
		}
	}
	for _, text := range []string{
		"executor: [command, model]\ncommand: [sleep, 5, true]\nlimits: {tokens: '1_500_000', time: 1h30m}\noutput: {type: object}",
		"executor: command\nmcp_servers: {a: {}}\ntool_output: {'*': {policy: keep}}\ncontext: {compaction: {start: 0.5}}",
	} {
		require.NoError(t, editorSchema(t, "role").Validate(yamlValue(t, text)), text)
	}
	require.Nil(t, Schema("rolle"))
}

// A name with nothing behind it is what it is to the loader, also where the loader has a reason of its own to refuse it.
func TestSchemasAndTheLoaderAgreeOnNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"mcp_servers: {docs: }", "mcp_servers:", "tool_output: {'*': }", "output:", "executor:", "tools:", "thinking:", "limits:",
		"writes:", "limits: {time: }", "context: {compaction: }", "concurrency:", "mcp_servers: {docs: {url: 'https://a/b', headers: {A: }}}",
		"tools: [null]", "command: [null]",
	} {
		_, err := ParseRole("x.md", "---\n"+text+"\n---\nDo.")
		require.Equal(t, err == nil, editorSchema(t, "role").Validate(yamlValue(t, text)) == nil, "%s: %v", text, err)
	}
	for _, text := range []string{
		"gates:", "gates: [null]", "gates: [{name: a, command: }]", "gates: [{name: a, command: [b], timeout: }]", "models: {a: }",
		"models:", "models: {a: {name: }}", "models: {a: {name: b, tier: }}", "setup:", "setup: {command: [a], key: [b]}", "setup: {command: a}", "setup: {key: }", "setup: {comand: [a]}",
		"setup: [a, 1]", "setup: a", "setup: {command: [a], key: b}", "setup: [[a]]", "limits:", "protected:", "parallel:", "budget:",
		"delegation:", "delegation: {depth: }", "mcp_servers:",
	} {
		_, err := ParseProject("x.yaml", text)
		require.Equal(t, err == nil, editorSchema(t, "project").Validate(yamlValue(t, text)) == nil, "%s: %v", text, err)
	}
	for text, right := range map[string]bool{
		"tasks:": false, "goal:\ntasks: [{id: a, role: reader, brief: b, files: , shard: , limits: {time: }}]": true,
		"tasks: [{id: a, role: , brief: b}]": false,
	} {
		plan, positions, err := ParsePlan("p.yaml", text)
		require.NoError(t, err)
		require.Equal(t, right, positions.Error(plan.Validate(planEnv(t))) == nil, text)
		require.Equal(t, right, editorSchema(t, "plan").Validate(yamlValue(t, text)) == nil, text)
	}
}

// The least values of the schemas are the loader's.
func TestLeastValuesOfTheSchemasAreTheLoaders(t *testing.T) {
	t.Parallel()
	texts := map[string][2]string{
		"Delegation.depth": {"project", "delegation: {depth: N}"}, "Delegation.fan_out": {"project", "delegation: {fan_out: N}"},
		"Project.parallel": {"project", "parallel: N"}, "Project.budget": {"project", "budget: N"},
		"Project.gate_permits": {"project", "gate_permits: N"},
		"roleFile.concurrency": {"role", "concurrency: N"}, "Limits.turns": {"role", "limits: {turns: N}"},
		"Limits.tokens": {"project", "limits: {tokens: N}"}, "Limits.tool_calls": {"role", "limits: {tool_calls: N}"},
		"Model.window":               {"project", "models: {a: {name: b, window: N}}"},
		"Model.max_output":           {"project", "models: {a: {name: b, max_output: N}}"},
		"Model.price_in":             {"project", "models: {a: {name: b, price_in: N}}"},
		"Model.price_out":            {"project", "models: {a: {name: b, price_out: N}}"},
		"ContextRules.last":          {"role", "context: {last: N}"},
		"ContextRules.drop_after":    {"role", "context: {drop_after: N}"},
		"ContextRules.recall_tokens": {"role", "context: {recall_tokens: N}"},
		"ContextRules.compact_after": {"role", "context: {compact_after: N}"},
		"Summaries.tokens":           {"project", "summaries: {tokens: N}"},
		"CompactionRules.overlap":    {"role", "context: {compaction: {overlap: N}}"},
		"ToolOutput.limit":           {"role", "tool_output: {'*': {limit: N}}"},
		"Task.attempts":              {"plan", "tasks: [{id: a, role: reader, brief: b, attempts: N}]"},
		"Task.canary":                {"plan", "tasks: [{id: a, role: generator, brief: b, shard: {by: file}, canary: N}]"},
		"Task.last":                  {"plan", "tasks: [{id: a, role: reader, brief: b, last: N}]"},
		"Task.max_tokens":            {"plan", "tasks: [{id: a, role: reader, brief: b, max_tokens: N}]"},
		"Shard.max_files":            {"plan", "tasks: [{id: a, role: reader, brief: b, shard: {by: file, max_files: N}}]"},
		"Shard.max_tokens":           {"plan", "tasks: [{id: a, role: reader, brief: b, shard: {by: file, max_tokens: N}}]"},
		"Task.allow_suppress": {
			"plan", "tasks: [{id: a, role: generator, brief: b, mends: [g], allow_suppress: N}]",
		},
		"Shard.rounds": {
			"plan", "tasks: [{id: a, role: generator, brief: b, mends: [g], shard: {by: finding, rounds: N}}]",
		},
	}
	require.Empty(t, missing(bounded(t), texts), "a bound without a case here")
	least := bounded(t)
	for key, text := range texts {
		for _, n := range []int{least[key] - 1, least[key]} {
			value := strings.ReplaceAll(text[1], "N", strconv.Itoa(n))
			var err error
			switch text[0] {
			case "role":
				_, err = ParseRole("x.md", "---\n"+value+"\n---\nDo.")
			case "plan":
				plan, positions, faults := ParsePlan("x.yaml", value)
				require.NoError(t, faults)
				err = positions.Error(plan.Validate(planEnv(t)))
			default:
				_, err = ParseProject("x.yaml", value)
			}
			require.Equal(t, n == least[key], err == nil, "%s: %v", value, err)
			err = editorSchema(t, text[0]).Validate(yamlValue(t, value))
			require.Equal(t, n == least[key], err == nil, "%s: %v", value, err)
		}
	}
}

// eachField calls f for every field that the files can have, as Type.field.
func eachField(t *testing.T, f func(key string, field reflect.StructField, schema *jsonschemago.Schema)) {
	t.Helper()
	var walk func(reflect.Type, *jsonschemago.Schema)
	walk = func(typ reflect.Type, s *jsonschemago.Schema) {
		for typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map || typ.Kind() == reflect.Pointer {
			if typ.Kind() != reflect.Pointer {
				s = cmp.Or(s.Items, s.AdditionalProperties)
			}
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || s == nil {
			return
		}
		if len(s.AnyOf) > 0 { // the lone form comes first
			s = s.AnyOf[1]
		}
		for _, field := range reflect.VisibleFields(typ) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if field.Anonymous || field.Tag.Get("file") == "-" {
				require.NotContains(t, s.Properties, name)
				continue
			}
			require.Contains(t, s.Properties, name)
			f(typ.Name()+"."+name, field, s.Properties[name])
			walk(field.Type, s.Properties[name])
		}
	}
	walk(reflect.TypeFor[roleFile](), roleSchema())
	walk(reflect.TypeFor[spec.Project](), projectSchema())
	walk(reflect.TypeFor[spec.Plan](), planSchema())
}

// bounded are the fields that hold numbers, with their least values; shares of a window have bounds of their own.
func bounded(t *testing.T) map[string]int {
	t.Helper()
	least := map[string]int{}
	eachField(t, func(key string, _ reflect.StructField, s *jsonschemago.Schema) {
		if s.Minimum != nil {
			least[key] = int(*s.Minimum)
		} else if s.Type == "integer" {
			least[key] = 0
		}
	})
	return least
}

func missing[A, B any](from map[string]A, in map[string]B) (keys []string) {
	for key := range from {
		if _, ok := in[key]; !ok {
			keys = append(keys, key)
		}
	}
	return keys
}

func TestEveryFieldIsDescribed(t *testing.T) {
	t.Parallel()
	fields := 0
	eachField(t, func(key string, _ reflect.StructField, s *jsonschemago.Schema) {
		require.NotEmpty(t, s.Description, key)
		fields++
	})
	require.Greater(t, fields, 80)
}

// The words of the schemas are the words that the files may hold: no more, and none is missing.
func TestWordsOfTheSchemasAreTheLoaders(t *testing.T) {
	t.Parallel()
	words := map[string][]string{}
	eachField(t, func(key string, field reflect.StructField, _ *jsonschemago.Schema) {
		if list := field.Tag.Get("enum"); list != "" {
			words[key] = strings.Split(list, ",")
		}
	})
	for key, text := range map[string]string{
		"roleFile.thinking": "thinking: WORD", "roleFile.tier": "tier: WORD", "roleFile.include_contents": "include_contents: WORD",
		"roleFile.narrative": "narrative: WORD", "ToolOutput.policy": "tool_output: {'*': {policy: WORD}}", "roleFile.executor": "executor: WORD",
	} {
		require.NotEmpty(t, words[key], key)
		for _, word := range append(words[key], "wrong") {
			_, err := ParseRole("x.md", "---\n"+strings.ReplaceAll(text, "WORD", word)+"\n---\nDo.")
			require.Equal(t, word == "wrong", err != nil, "%s: %v", text, err)
		}
	}
	for key, text := range map[string]string{
		"Gate.format": "gates: [{name: a, command: [b], format: WORD}]", "Model.thinking": "models: {a: {name: b, thinking: WORD}}",
		"Model.tier":     "models: {a: {name: b, tier: WORD}}",
		"Model.provider": "models: {a: {name: b, provider: WORD}}",
	} {
		require.NotEmpty(t, words[key], key)
		for _, word := range append(words[key], "wrong") {
			_, err := ParseProject("x.yaml", strings.ReplaceAll(text, "WORD", word))
			require.Equal(t, word == "wrong", err != nil, "%s: %v", text, err)
		}
	}
}
