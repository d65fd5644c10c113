package geminitest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

func parse(t *testing.T, text string) *Script {
	t.Helper()
	s, err := Parse([]byte(text))
	require.NoError(t, err)
	return s
}

func ask(task, text string) *Request {
	r := &Request{Task: task, Attempt: 1, Turn: 1, Contents: []*genai.Content{genai.NewContentFromText(text, "user")}}
	r.Fill()
	return r
}

func TestParseFaults(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"rules:\n  - steps:\n      - txt: hi\n":                     "3:9",
		"rules: [{stepz: []}]":                                      "stepz",
		"{\"rules\": [{\"steps\": [{\"text\": \"a\", \"x\": 1}]}]}": "\"x\"",
		"":                                 "no rules",
		"rules: []":                        "no rules",
		"rules: [{task: a}]":               "rules[0]: no steps",
		"rules: [{steps: [{}]}]":           "neither an answer nor a fault",
		"rules: [{steps: [{fault: 418}]}]": `unknown fault "418"; known are 404, 429`,
		"rules: [{steps: [{text: a, times: 2}]}]":                             "times needs a fault",
		"rules: [{steps: [{calls: [{args: {}}]}]}]":                           "calls[0]: no name",
		"rules: [{match: '(', steps: [{text: a}]}]":                           "match",
		"rules: [{steps: [{text: '{{nope}}'}]}]":                              "nope",
		"rules: [{steps: [{calls: [{name: f, args: {a: ['{{nope}}']}}]}]}]":   "nope",
		"rules: [{steps: [{text: a, delay: soon}]}]":                          "soon",
		"rules: [{attempt: -1, steps: [{text: a}]}]":                          "count from 1",
		"rules: [{steps: [{calls: [{name: f, for_each: '('}]}]}]":             "for_each",
		"rules: [{steps: [{text: a, chunk: -1}]}]":                            "negative",
		"rules: [{steps: [{fault: 503}, {fault: x}]}, {steps: [{fault: y}]}]": "rules[1]: steps[0]: unknown fault \"y\"",
	} {
		_, err := Parse([]byte(in))
		require.ErrorContains(t, err, want, in)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.yaml")
	_, err := Load(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(path, []byte("rules: [{x: 1}]"), 0o600))
	_, err = Load(path)
	require.ErrorContains(t, err, path)
	require.NoError(t, os.WriteFile(path, []byte("rules: [{steps: [{text: a, delay: 20ms, fault: 503, times: 2}]}]"), 0o600))
	s, err := Load(path)
	require.NoError(t, err)
	require.Equal(t, 20*time.Millisecond, s.Rules[0].Steps[0].Delay.Std())
	require.Equal(t, "503", s.Rules[0].Steps[0].Fault)
}

func TestRulesMatchByTaskAndTurn(t *testing.T) {
	t.Parallel()
	p := NewPlayer(parse(t, `rules:
      - {task: a/*, attempt: 2, steps: [{text: second attempt}]}
      - {task: a/*, purpose: compaction, steps: [{text: compacted}]}
      - {task: a/?, steps: [{text: one}, {text: two}]}
      - {task: a/?, turn: 3, steps: [{text: three}]}
      - {role: tester, steps: [{text: tested}]}
      - {match: "needle", steps: [{text: found}]}
      - {task: loop, repeat: true, steps: [{text: first}, {text: rest}]}`), nil)
	say := func(change func(*Request)) string {
		r := ask("a/x", "hi")
		change(r)
		reply, err := p.Play(r)
		if err != nil {
			return err.Error()
		}
		return string(reply.Chunks[0])
	}
	require.Contains(t, say(func(*Request) {}), `"one"`)
	require.Contains(t, say(func(r *Request) { r.Turn = 2 }), `"two"`)
	require.Contains(t, say(func(r *Request) { r.Turn = 3 }), `"three"`)
	require.Contains(t, say(func(r *Request) { r.Attempt = 2 }), `"second attempt"`)
	require.Contains(t, say(func(r *Request) { r.Purpose = "compaction" }), `"compacted"`)
	require.Contains(t, say(func(r *Request) { r.Task, r.Role = "b", "tester" }), `"tested"`)
	require.Contains(t, say(func(r *Request) { *r = *ask("b", "a needle here") }), `"found"`)
	require.Contains(t, say(func(r *Request) { r.Task, r.Turn = "loop", 9 }), `"rest"`)
	require.Contains(t, say(func(r *Request) { r.Turn = 4 }), `no rule answers task "a/x", attempt 1, turn 4, purpose "turn"`)
	require.Contains(t, say(func(r *Request) { r.Task = "a/xy" }), "no rule")
}

func TestRequestFillsInWhatHeadersWouldSay(t *testing.T) {
	t.Parallel()
	r := &Request{Contents: []*genai.Content{
		genai.NewContentFromText("Brief\nTask: s/1\nRole: reader\nAttempt: 2\n", "user"),
		genai.NewContentFromText("m", "model"), genai.NewContentFromText("u", "user"),
	}}
	r.Fill()
	require.Equal(t, []any{"s/1", "reader", 2, 2, "turn"}, []any{r.Task, r.Role, r.Attempt, r.Turn, r.Purpose})

	r = &Request{Contents: []*genai.Content{{Role: "user", Parts: []*genai.Part{
		{Text: "The agent's own words."}, {Text: `{"task":{"id":"s-2","role":"gemini","files":["a"]},"attempt":3,"files":["a"],"goal":""}` + "\n\nDo it."},
	}}}}
	r.Fill()
	require.Equal(t, []any{"s-2", 3, 1}, []any{r.Task, r.Attempt, r.Turn}, "a coding agent passes on what it reads")
}

func TestTriesAreCountedPerTurnNotByArrival(t *testing.T) {
	t.Parallel()
	p := NewPlayer(parse(t, `rules: [{task: "*", steps: [
	  {fault: 503, times: 2, text: ok}, {fault: cut, text: ok}, {fault: 500}]}]`), nil)
	status := func(task string, turn int) int {
		r := ask(task, "x")
		r.Turn = turn
		reply, err := p.Play(r)
		require.NoError(t, err)
		return reply.Status
	}
	require.Equal(t, []int{503, 503, 503, 503, 200, 200}, []int{
		status("a", 1), status("b", 1), status("a", 1), status("b", 1), status("a", 1), status("b", 1),
	})
	r := ask("a", "x")
	r.Turn = 2
	reply, err := p.Play(r)
	require.NoError(t, err)
	require.Equal(t, EndCut, reply.End)
	reply, err = p.Play(r)
	require.NoError(t, err)
	require.Equal(t, EndClean, reply.End, "a fault with an answer hits once")
	require.Equal(t, []int{500, 500, 500}, []int{status("a", 3), status("a", 3), status("a", 3)})
}

func TestFaultThatEndsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	p := NewPlayer(parse(t, `rules: [{steps: [{fault: 503, times: 1}]}]`), nil)
	_, err := p.Play(ask("a", "x"))
	require.NoError(t, err)
	_, err = p.Play(ask("a", "x"))
	require.ErrorContains(t, err, "rules[0].steps[0]: the fault 503 is over")
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	s := parse(t, `rules: [{task: "*", repeat: true, steps: [{
  text: '{{task}} {{attempt}} {{turn}} {{capture "File: (\\S+)"}} {{captureLast "File: (\\S+)"}}
         {{result "read" | replace "o" "0" | upper}}',
  calls: [{name: edit, for_each: "File: (\\S+)", args: {path: "{{item}}", n: 3, deep: [{x: "{{task}}"}]}}]}]}]`)
	r := ask("t1", "File: a.go\nFile: b.go")
	r.Contents = append(r.Contents, &genai.Content{Role: "user", Parts: []*genai.Part{{FunctionResponse: &genai.FunctionResponse{
		Name: "read", Response: map[string]any{"output": "foo"},
	}}}})
	a, err := expandAnswer(s.Rules[0].Steps[0], r)
	require.NoError(t, err)
	require.Equal(t, "t1 1 1 a.go b.go F00", a.Text)
	require.Len(t, a.Calls, 2)
	require.Equal(t, "b.go", a.Calls[1].Args["path"])
	require.Equal(t, []any{map[string]any{"x": "t1"}}, a.Calls[1].Args["deep"])
	require.Equal(t, "{{item}}", s.Rules[0].Steps[0].Calls[0].Args["path"], "the script stays as it is")

	_, err = NewPlayer(s, nil).Play(ask("t2", "no file"))
	require.ErrorContains(t, err, "nothing in the request matches")
	_, err = NewPlayer(s, nil).Play(ask("t2", "File: a"))
	require.ErrorContains(t, err, "no result of read")
}

func TestPlayerWithoutAnything(t *testing.T) {
	t.Parallel()
	_, err := NewPlayer(nil, nil).Play(ask("a", "x"))
	require.ErrorContains(t, err, "no script")
	_, err = NewPlayer(nil, func(Request) Answer { return Answer{} }).Play(ask("a", "x"))
	require.ErrorContains(t, err, "handler")
}

// FuzzParse: a script is refused or can be played; nothing panics.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"rules: [{task: 'a*', steps: [{text: '{{capture \"(x)\"}}', calls: [{name: f, args: {a: [1, {b: c}]}}]}]}]",
		"rules:\n  - steps:\n    - fault: 429\n      times: 2\n      text: x\n",
		`{"rules":[{"steps":[{"fault":"cut","chunk":1}]}]}`,
		"rules: [{repeat: true, steps: [{text: &a x, thought: *a}]}]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := Parse(in)
		if err != nil {
			return
		}
		reply, err := NewPlayer(s, nil).Play(ask("a", "x"))
		if err == nil {
			require.NotZero(t, reply.Status)
		}
	})
}
