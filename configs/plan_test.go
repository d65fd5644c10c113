package configs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"divisi/internal/spec"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

const goodPlan = `goal: move things
decision_record: |
  Names are short.
constraints: [keep the API]
tasks:
  - id: survey
    role: reader
    brief: find the users
  - id: move
    title: Move
    role: generator
    brief: |
      Move them.
      All of them.
    inputs: [survey]
    include_contents: full
    last: 5
    max_tokens: 1000
    gates: [test]
    verify: tester
    attempts: 2
    limits: {turns: 5, tokens: 100, time: 1h30m}
    shard: {by: package, match: 'old\.', glob: "**/*.go", max_files: 3}
`

func planEnv(t *testing.T) spec.Env {
	t.Helper()
	roles, err := BuiltInRoles()
	require.NoError(t, err)
	return spec.Env{Roles: roles}
}

func planFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "plan.yaml")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// loadPlan reads a plan file as a command does.
func loadPlan(name string) (spec.Plan, *Positions, error) {
	files, err := Read(name)
	if err != nil {
		return spec.Plan{}, nil, err
	}
	return ParsePlan(name, files[0].Text)
}

func TestPlanOfAFile(t *testing.T) {
	t.Parallel()
	name := planFile(t, goodPlan)
	plan, positions, err := loadPlan(name)
	require.NoError(t, err)
	require.NoError(t, positions.Error(nil))
	require.Equal(t, spec.Plan{
		Goal: "move things", DecisionRecord: "Names are short.\n", Constraints: []string{"keep the API"},
		Tasks: []spec.Task{
			{ID: "survey", Role: "reader", Brief: "find the users"},
			{
				ID: "move", Title: "Move", Role: "generator", Brief: "Move them.\nAll of them.\n",
				Inputs: []string{"survey"}, IncludeContents: "full", Last: 5,
				MaxTokens: 1000, Gates: []string{"test"}, Verify: "tester", Attempts: 2,
				Limits: spec.Limits{Turns: 5, Tokens: 100, Time: spec.Duration(90 * time.Minute)},
				Shard:  &spec.Shard{By: "package", Match: `old\.`, Glob: "**/*.go", MaxFiles: 3},
			},
		},
	}, plan)
	require.NoError(t, positions.Error(plan.Validate(planEnv(t))))

	require.EqualError(t, positions.Error([]spec.Problem{{Path: "tasks[1].limits.time", Message: "too long", Suggest: "1h"}}),
		name+": 1 error\n  "+name+`:22:43: too long (did you mean "1h"?)`+
			"\n    |     limits: {turns: 5, tokens: 100, time: 1h30m}\n    |"+
			strings.Repeat(" ", 43)+"^")
	require.ErrorContains(t, positions.Error([]spec.Problem{{Path: "tasks[0].attempts", Message: "m"}}), ":6:5: m")
	require.ErrorContains(t, positions.Error([]spec.Problem{{Path: "", Message: "m"}}), ":1:1: m")
}

func TestFaultsOfFormAndOfMeaningAreToldAtOnce(t *testing.T) {
	t.Parallel()
	name := planFile(t, "tasks:\n  - id: a--b\n    role: reder\n    brieff: x\n    files: ../x\n  - id: b\n    role: generator\n"+
		"    brief: x\n    depends_on: [c]\n    id: d\n  - {id: c, role: generator, brief: y, inputs: [b/x], attempts: 99}\n")
	plan, positions, err := loadPlan(name)
	require.Error(t, err)
	err = positions.Error(plan.Validate(planEnv(t)))
	for _, want := range []string{
		"plan.yaml: 7 errors", `:2:9: task id "a--b"`, `:3:11: there is no role "reder"`, `:4:5: unknown field "brieff"`,
		`:5:12: tasks[0].files is not a list (did you mean "[../x]"?)`,
		":9:17: the tasks wait for each other in a circle: b -> c -> b",
		`:10:5: field "id" is here twice, first in line 6`, ":11:65: 99 attempts are not between 1 and 10",
	} {
		require.ErrorContains(t, err, want)
	}
	plan, positions, err = loadPlan(planFile(t, ""))
	require.NoError(t, err)
	require.ErrorContains(t, positions.Error(plan.Validate(planEnv(t))), "the plan has no tasks")
	_, positions, err = loadPlan(name + "x")
	require.ErrorContains(t, err, "cannot be read")
	require.Nil(t, positions)
}

func TestWhatCannotBeReadIsTheOnlyFault(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"tasks:\n\t- id: a\n", "tasks: [\n", "tasks: []\xff\n", "tasks: []\x00\n", "%YAML 1.2\n"} {
		plan, positions, err := ParsePlan("p.yaml", text)
		require.ErrorContains(t, err, "p.yaml: 1 error", "%q", text)
		require.Equal(t, err, positions.Error(plan.Validate(planEnv(t))), "%q", text)
		_, err = ParseRole("x.md", "---\n"+strings.TrimPrefix(text, "%YAML 1.2\n")+"a: [\n---\n")
		require.ErrorContains(t, err, "x.md: 1 error", "%q", text)
	}
}

func TestFaultsShowNoControlCharacters(t *testing.T) {
	t.Parallel()
	_, _, err := ParsePlan("p.yaml", "\"\\e[2Jx\": 1\nb\u202ea: 2\n"+strings.Repeat("é", 500)+": 3\n")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "\x1b")
	require.NotContains(t, err.Error(), "\u202e")
	require.Contains(t, err.Error(), strings.Repeat("é", 160)+"…")

	_, _, err = loadPlan("a\x1b]0;owned\x07\nb.yaml")
	require.ErrorContains(t, err, "a\uFFFD]0;owned\uFFFD\uFFFDb.yaml: 1 error", "a repository names its files")
}

func TestTheDeclarationOfAPlanHoldsNoBounds(t *testing.T) {
	t.Parallel()
	shown, _ := spec.Declaration[spec.Plan]()
	text, err := json.Marshal(shown)
	require.NoError(t, err)
	for _, bound := range []string{"maxItems", "minItems", "minimum", "maximum", "pattern", "null", "$ref"} {
		require.NotContains(t, string(text), `"`+bound+`"`)
	}
}

func TestPlanSchemaTakesAPlan(t *testing.T) {
	t.Parallel()
	plan, _, err := ParsePlan("p.yaml", goodPlan)
	require.NoError(t, err)
	text, err := json.Marshal(plan)
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	shown, _ := spec.Declaration[spec.Plan]()
	require.NoError(t, compiler.AddResource("plan", shown))
	compiled, err := compiler.Compile("plan")
	require.NoError(t, err)
	require.NoError(t, compiled.Validate(value))
	require.Error(t, compiled.Validate(map[string]any{"tasks": []any{map[string]any{"id": "a", "role": "b"}}}))
}

func FuzzParsePlan(f *testing.F) {
	f.Add(goodPlan)
	f.Add("tasks: [{id: a, shard: {by: command, command: [ls]}}]\n...\n%YAML 1.2\n---\n")
	f.Add("tasks:\n- ? a\n  : b\n- !!map {}\n- |\n x\n")
	env := spec.Env{Roles: map[string]spec.Role{"generator": {Writes: true}}}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > maxRole {
			return
		}
		plan, positions, err := ParsePlan("fuzz.yaml", text)
		checkFaults(t, err)
		checkFaults(t, positions.Error(plan.Validate(env)))
	})
}
