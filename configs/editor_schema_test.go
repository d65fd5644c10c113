package configs

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"divisi/internal/spec"

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
	compiler.UseLoader(noLoader{})
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
	value := (&decoder{document: d}).free(body, "", 0)
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
		"models:", "models: {a: {name: }}", "models: {a: {name: b, tier: }}", "setup:", "limits:", "protected:", "parallel:", "budget:",
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
		"Role.concurrency": {"role", "concurrency: N"}, "Limits.turns": {"role", "limits: {turns: N}"},
		"Limits.tokens": {"project", "limits: {tokens: N}"}, "Limits.tool_calls": {"role", "limits: {tool_calls: N}"},
		"Model.window":               {"project", "models: {a: {name: b, window: N}}"},
		"Model.max_output":           {"project", "models: {a: {name: b, max_output: N}}"},
		"Model.price_in":             {"project", "models: {a: {name: b, price_in: N}}"},
		"Model.price_out":            {"project", "models: {a: {name: b, price_out: N}}"},
		"ContextRules.last":          {"role", "context: {last: N}"},
		"ContextRules.drop_after":    {"role", "context: {drop_after: N}"},
		"ContextRules.recall_tokens": {"role", "context: {recall_tokens: N}"},
		"CompactionRules.overlap":    {"role", "context: {compaction: {overlap: N}}"},
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(fieldLeast)), slices.Collect(maps.Keys(texts)))
	for key, text := range texts {
		for _, n := range []int{fieldLeast[key] - 1, fieldLeast[key]} {
			value := strings.ReplaceAll(text[1], "N", strconv.Itoa(n))
			_, err := ParseProject("x.yaml", value)
			if text[0] == "role" {
				_, err = ParseRole("x.md", "---\n"+value+"\n---\nDo.")
			}
			require.Equal(t, n == fieldLeast[key], err == nil, "%s: %v", value, err)
			err = editorSchema(t, text[0]).Validate(yamlValue(t, value))
			require.Equal(t, n == fieldLeast[key], err == nil, "%s: %v", value, err)
		}
	}
}

// Every field has its text, and there are no texts of fields that are gone.
func TestEveryFieldIsDescribed(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map || typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct {
			return
		}
		for f := range typ.Fields() {
			if name := yamlName(f); name != "" {
				known[typ.Name()+"."+name] = true
			}
			walk(f.Type)
		}
	}
	walk(reflect.TypeFor[roleFile]())
	walk(reflect.TypeFor[spec.Project]())
	require.ElementsMatch(t, slices.Collect(maps.Keys(known)), slices.Collect(maps.Keys(fieldTexts)))
	require.Subset(t, slices.Collect(maps.Keys(known)), slices.Collect(maps.Keys(fieldWords)))
	require.Subset(t, slices.Collect(maps.Keys(known)), slices.Collect(maps.Keys(fieldNeeded)))

	plan := PlanSchema()["properties"].(map[string]any)
	task := plan["tasks"].(map[string]any)["items"].(map[string]any)["properties"].(map[string]any)
	require.ElementsMatch(t, fieldNames(reflect.TypeFor[spec.Plan]()), slices.Collect(maps.Keys(plan)))
	require.ElementsMatch(t, fieldNames(reflect.TypeFor[spec.Task]()), slices.Collect(maps.Keys(task)))
	for field, typ := range map[string]reflect.Type{"limits": reflect.TypeFor[spec.Limits](), "shard": reflect.TypeFor[spec.Shard]()} {
		inner := task[field].(map[string]any)["properties"].(map[string]any)
		require.ElementsMatch(t, fieldNames(typ), slices.Collect(maps.Keys(inner)))
	}
}

// The words of the schemas are the words that the files may hold: no more, and none is missing.
func TestWordsOfTheSchemasAreTheLoaders(t *testing.T) {
	t.Parallel()
	for key, text := range map[string]string{
		"Role.thinking": "thinking: WORD", "Role.tier": "tier: WORD", "Role.include_contents": "include_contents: WORD",
		"Role.narrative": "narrative: WORD", "ToolOutput.policy": "tool_output: {'*': {policy: WORD}}", "roleFile.executor": "executor: WORD",
	} {
		for _, word := range append(fieldWords[key], "wrong") {
			_, err := ParseRole("x.md", "---\n"+strings.ReplaceAll(text, "WORD", word)+"\n---\nDo.")
			require.Equal(t, word == "wrong", err != nil, "%s: %v", text, err)
		}
	}
	for key, text := range map[string]string{
		"Gate.format": "gates: [{name: a, command: [b], format: WORD}]", "Model.thinking": "models: {a: {name: b, thinking: WORD}}",
		"Model.tier":     "models: {a: {name: b, tier: WORD}}",
		"Model.provider": "models: {a: {name: b, provider: WORD}}",
	} {
		for _, word := range append(fieldWords[key], "wrong") {
			_, err := ParseProject("x.yaml", strings.ReplaceAll(text, "WORD", word))
			require.Equal(t, word == "wrong", err != nil, "%s: %v", text, err)
		}
	}
}
