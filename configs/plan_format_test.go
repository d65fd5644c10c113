package configs

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"divisi/internal/spec"
)

// strange are pieces of text that mean something in YAML, or are hard to write.
var strange = []string{
	"a", "word ", " ", "\n", "\n\n", "\t", "\r\n", "\r", ": ", ":", "- ", "-", "# ", "#", "? ", "|", "> ", "%", "@", "`", "&a", "*a", "!t", "{", "}",
	"[", "]", ",", "'", `"`, `\`, `\n`, "---", "...", "null", "~", "yes", "true", "0x1F", "1_0", ".5", "1e3", "12:30", "2026-01-01",
	"<<", "=", "é", "日本", "\U0001F600", "\u00a0", "\u0085", "\u2028", "\ufeff", "\x01", "\x1b[2J", "\x7f", "    code()\n", "\tif x {\n\t}\n",
}

func texts() *rapid.Generator[string] {
	pieces := rapid.SliceOfN(rapid.SampledFrom(strange), 1, 8)
	return rapid.OneOf(rapid.Map(pieces, func(p []string) string { return strings.Join(p, "") }), rapid.StringN(1, 40, -1))
}

func some(t *rapid.T, label string) []string {
	list := rapid.SliceOfN(texts(), 0, 3).Draw(t, label)
	if len(list) == 0 {
		return nil
	}
	return list
}

func maybe(t *rapid.T, label string) string {
	return rapid.OneOf(rapid.Just(""), texts()).Draw(t, label)
}

func anyTask(t *rapid.T) spec.Task {
	number := rapid.IntRange(0, 99)
	task := spec.Task{
		ID: texts().Draw(t, "id"), Title: maybe(t, "title"), Role: texts().Draw(t, "role"), Brief: texts().Draw(t, "brief"),
		Constraints: some(t, "constraints"), Files: some(t, "files"), Inputs: some(t, "inputs"), DependsOn: some(t, "depends_on"),
		IncludeContents: spec.IncludeContents(rapid.SampledFrom([]string{"", "none", "full"}).Draw(t, "include_contents")),
		Last:            number.Draw(t, "last"), MaxTokens: number.Draw(t, "max_tokens"), Gates: some(t, "gates"), Verify: maybe(t, "verify"),
		Attempts: number.Draw(t, "attempts"), ChangeSet: maybe(t, "change_set"), Command: some(t, "command"),
		Together: rapid.Bool().Draw(t, "together"), Remaining: rapid.SampledFrom([]string{"", "ok"}).Draw(t, "remaining"),
		Limits: spec.Limits{
			Turns: number.Draw(t, "turns"), Tokens: number.Draw(t, "tokens"), ToolCalls: number.Draw(t, "calls"),
			Time: spec.Duration(time.Duration(number.Draw(t, "time")) * 7 * time.Second), Idle: spec.Duration(number.Draw(t, "idle")),
		},
	}
	if task.Inputs == nil && rapid.Bool().Draw(t, "no inputs") {
		task.Inputs = []string{}
	}
	if rapid.Bool().Draw(t, "template") {
		task.Shard = &spec.Shard{
			By: "file", Match: maybe(t, "match"), Glob: maybe(t, "glob"), MaxFiles: number.Draw(t, "max_files"),
			MaxTokens: number.Draw(t, "max_tokens"), Command: some(t, "command"),
		}
	}
	return task
}

func TestAPlanIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := spec.Plan{
			Goal: maybe(t, "goal"), DecisionRecord: maybe(t, "decision_record"), Constraints: some(t, "constraints"),
			Tasks: rapid.SliceOfN(rapid.Custom(anyTask), 1, 3).Draw(t, "tasks"),
		}
		checkFormat(t, p)
	})
}

func checkFormat(t require.TestingT, p spec.Plan) {
	text, err := FormatPlan(p)
	require.NoError(t, err)
	read, _, err := ParsePlan("p.yaml", text)
	require.NoError(t, err, "%q", text)
	require.Equal(t, p, read, "%s", text)
}

// FuzzFormatPlan reads a plan from any text as JSON, as a model's call has it.
func FuzzFormatPlan(f *testing.F) {
	f.Add(`{"goal":"a: b","tasks":[{"id":"a","brief":"\n x\n\t\n","shard":{"by":"file","match":"\\b"}}]}`, " a\n b\n\n", "? x")
	f.Fuzz(func(t *testing.T, text, brief, title string) {
		var p spec.Plan
		if len(text) > maxRole || json.Unmarshal([]byte(text), &p) != nil || len(p.Tasks) == 0 {
			p = spec.Plan{Tasks: []spec.Task{{ID: "a"}}}
		}
		p.Tasks[0].Brief, p.Tasks[0].Title = strings.ToValidUTF8(brief, "x"), strings.ToValidUTF8(title, "x")
		for i := range p.Tasks {
			p.Tasks[i].ShardOf, p.Tasks[i].Rule, p.Tasks[i].Unlocked = "", nil, nil
		}
		var same spec.Plan // without empty lists, as the log keeps it
		data, err := json.Marshal(p)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &same))
		if !strings.Contains(string(data), `\u0000`) {
			checkFormat(t, same)
		}
	})
}

// A task that names no inputs gets those of its role, and one with an empty list gets none: a plan that was written, kept in the log
// and written again has the same.
func TestAnEmptyListOfInputsIsKept(t *testing.T) {
	t.Parallel()
	p := spec.Plan{Tasks: []spec.Task{{ID: "a", Role: "r", Brief: "b", Inputs: []string{}}, {ID: "b", Role: "r", Brief: "b"}}}
	for range 2 {
		checkFormat(t, p)
		data, err := json.Marshal(p)
		require.NoError(t, err)
		p = spec.Plan{}
		require.NoError(t, json.Unmarshal(data, &p))
	}
	require.Equal(t, []string{}, p.Tasks[0].Inputs)
	require.Nil(t, p.Tasks[1].Inputs)
}

func TestAFormattedPlanIsReadable(t *testing.T) {
	t.Parallel()
	text, err := FormatPlan(spec.Plan{
		Goal: "Move: all", DecisionRecord: "Names:\n\n\tfetch\n", Constraints: []string{"Keep it."},
		Tasks: []spec.Task{
			{ID: "survey", Role: "reader", Brief: "Find it."},
			{
				ID: "move", Title: "Move", Role: "generator", Brief: "Move\n  it.", Files: []string{"**/*.go"}, DependsOn: []string{"survey"},
				Limits: spec.Limits{Time: spec.Duration(time.Hour)}, Shard: &spec.Shard{By: "package", Match: `old\.`},
				ShardOf: "x", Rule: &spec.ShardRule{}, Unlocked: []string{"y"},
			},
		},
	})
	require.NoError(t, err)
	require.Equal(t, `goal: "Move: all"
decision_record: |
  Names:

  	fetch
constraints:
  - Keep it.
tasks:
  - id: survey
    role: reader
    brief: Find it.
  - id: move
    title: Move
    role: generator
    brief: |-
      Move
        it.
    files:
      - "**/*.go"
    depends_on:
      - survey
    limits:
      time: 1h0m0s
    shard:
      by: package
      match: "old\\."
`, text)
}
