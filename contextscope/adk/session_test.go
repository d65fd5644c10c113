package adk_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"divisi/contextscope"
	"divisi/contextscope/adk"

	"github.com/stretchr/testify/require"
)

// golden is a session, what it compiles to, and why.
type golden struct {
	Why      string          `json:"why"`
	Session  json.RawMessage `json:"session"`
	Contents json.RawMessage `json:"contents"`
	// Notes are what the trace says was broken; they are given where something is.
	Notes []string `json:"notes"`
}

func readGoldens(t testing.TB) map[string]golden {
	t.Helper()
	files, err := filepath.Glob("testdata/sessions/*.json")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 25)
	goldens := map[string]golden{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		var g golden
		require.NoError(t, json.Unmarshal(data, &g), file)
		goldens[strings.TrimSuffix(filepath.Base(file), ".json")] = g
	}
	return goldens
}

func TestCompileSessionGolden(t *testing.T) {
	t.Parallel()
	for name, g := range readGoldens(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			contents, trace, err := adk.Compile(g.Session)
			require.NoError(t, err)
			got, err := json.Marshal(contents)
			require.NoError(t, err)
			require.JSONEq(t, string(g.Contents), string(got), g.Why)
			require.NotEmpty(t, trace)
			if g.Notes != nil {
				require.Equal(t, g.Notes, notes(trace), g.Why)
			}
			lines := 0
			for _, line := range trace {
				require.NotEmpty(t, line.What)
				if line.Processor == "contents" {
					lines++
				}
			}
			require.Len(t, contents, lines, "each content is explained by one line")
		})
	}
}

func notes(trace []contextscope.Trace) []string {
	var all []string
	for _, line := range trace {
		all = append(all, line.Notes...)
	}
	return all
}

func TestCompileSessionReadsBytesThatAreNoUTF8(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"{\"agent\":\"a\",\"events\":[{\"author\":\"user\",\"parts\":[{\"text\":\"ok \\\\ud800\"}]},{\"author\":\"user\",\"parts\":[{\"text\":\"x\xffy\"}]}]}",
		`{"agent":"a","events":[{"author":"user","parts":[{"text":"ok \\ud800"}]},{"author":"user","parts":[{"text":"x\udfffy"}]}]}`,
		`{"agent":"a","events":[{"author":"user","parts":[{"text":"ok \\ud800"}]},{"author":"user","parts":[{"text":"x\ud800y"}]}]}`,
	} {
		contents, trace, err := adk.Compile([]byte(in))
		require.NoError(t, err)
		require.Equal(t, `ok \ud800`, contents[0].Parts[0].Text)
		require.Equal(t, "x\ufffdy", contents[1].Parts[0].Text)
		require.Equal(t, []string{"event 1: text that is no Unicode was replaced by U+FFFD"}, notes(trace), in)
	}
	_, trace, err := adk.Compile([]byte("{\"agent\":\"\xff\",\"events\":[]}"))
	require.NoError(t, err)
	require.Equal(t, contextscope.Trace{Processor: "read", What: "U+FFFD replaces invalid Unicode"}, trace[0])
}

// Numbers are compared as text here: JSONEq would take 1.0 for 1 and lose digits.
func TestCompileSessionKeepsNumbersAsWritten(t *testing.T) {
	t.Parallel()
	contents, _, err := adk.Compile([]byte(`{"agent":"a","events":[{"author":"a","parts":[
		{"functionCall":{"id":"c","name":"seek","args":{"at":12345678901234567890,"by":1.0}}}]}]}`))
	require.NoError(t, err)
	got, err := json.Marshal(contents[0])
	require.NoError(t, err)
	require.Contains(t, string(got), `"args":{"at":12345678901234567890,"by":1.0}`)
}

func TestCompileSessionExplainsWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, trace, err := adk.Compile([]byte(`{"agent":"coder","branch":"r.coder","narrative":"plain","events":[
		{"author":"user","parts":[{"text":"go"}]},
		{"author":"reader","branch":"r.reader","parts":[{"text":"hidden"}]},
		{"author":"reader","parts":[{"text":" "}]},
		{"author":"coder","parts":[{"functionCall":{"id":"c1","name":"run"}}]},
		{"author":"coder","parts":[{"functionResponse":{"id":"c9","name":"run"}}]},
		{"author":"coder","parts":[]}]}`))
	require.NoError(t, err)
	require.Equal(t, []string{
		"event 1 was left out: branch r.reader is not visible from r.coder",
		"event 5 was left out: nothing in it that a model can see",
		"event 2 was left out: it has nothing to show",
		`event 3: call "c1" was never answered: its result is a placeholder`,
		`event 4: the result of call "c9" was left out: no call before it`,
	}, notes(trace))
}

func TestCompileSessionFaults(t *testing.T) {
	t.Parallel()
	event := func(rest string) string { return `{"agent":"a","events":[{"author":"a",` + rest + `}]}` }
	for name, c := range map[string]struct{ in, want string }{
		"empty": {"", "line 1, column 1: unexpected end of the JSON"},
		"cut":   {`{"agent":"a",`, "line 1, column 14: unexpected end of the JSON"},
		"syntax": {
			"{\n\"agent\": oops}",
			"line 2, column 10: invalid character 'o' looking for beginning of value",
		},
		"trailing":         {"{\"agent\":\"a\"}\n x", "line 2, column 2: more after the end of the value"},
		"wrong type":       {`{"agent":1}`, "line 1, column 10: agent: a JSON number does not fit, want a string"},
		"no object":        {`[]`, "line 1, column 1: the value: a JSON array does not fit, want an object"},
		"unknown field":    {"{\"agent\":\"a\",\n  \"event\":[]}", `line 2, column 3: unknown field "event"`},
		"case matters":     {`{"Agent":"a"}`, `line 1, column 2: unknown field "Agent"`},
		"unknown in event": {event(`"txt":1`), `line 1, column 38: unknown field "txt" in events[0]`},
		"unknown in part": {
			event(`"parts":[{"test":"x"}]`),
			`line 1, column 48: unknown field "test" in events[0].parts[0]`,
		},
		"unknown in call": {
			event(`"parts":[{"functionCall":{"arguments":{}}}]`),
			`line 1, column 64: unknown field "arguments" in events[0].parts[0].functionCall`,
		},
		"snake case": {
			event(`"parts":[{"function_call":{}}]`),
			`line 1, column 48: unknown field "function_call" in events[0].parts[0]`,
		},
		"no agent": {" {}", "line 1, column 2: agent is missing: name the agent of the request"},
		"bad include": {
			`{"agent":"a","include_contents":"all"}`,
			`line 1, column 33: include_contents must be none or full, not "all"`,
		},
		"bad narrative": {
			"{\"agent\":\"a\",\n\"narrative\":\"prose\"}",
			`line 2, column 13: narrative must be plain or fenced, not "prose"`,
		},
		"no author": {`{"agent":"a","events":[{"parts":[]}]}`, `line 1, column 24: events[0]: author is missing`},
		"bad role": {
			event(`"role":"system"`),
			`line 1, column 45: events[0]: role must be user or model, not "system"`,
		},
		"null part": {event(`"parts":[{"text":"x"},null]`), `line 1, column 60: events[0]: parts[1] is null`},
		"null":      {`null`, "line 1, column 1: agent is missing: name the agent of the request"},
		"not a base64 blob": {
			event(`"parts":[{"inlineData":{"data":"%"}}]`),
			"line 1, column 69: events[0].parts[0].inlineData.data: illegal base64 data at input byte 0",
		},
		"not a base64 signature": {
			event(`"parts":[{"text":"x"},{"thoughtSignature":"!!"}]`),
			"line 1, column 80: events[0].parts[1].thoughtSignature: illegal base64 data at input byte 0",
		},
		"bytes as a number": {
			event(`"parts":[{"inlineData":{"data":7}}]`),
			"line 1, column 69: events[0].parts[0].inlineData.data: a JSON number does not fit, want a string in base64",
		},
		"own way of reading": {
			event(`"parts":[{"videoMetadata":{"startOffset":"soon"}}]`),
			`line 1, column 64: events[0].parts[0].videoMetadata: time: invalid duration "soon"`,
		},
		"the second event is wrong": {
			`{"agent":"a","events":[{"author":"a","timestamp":1},` + "\n" + `{"author":"a","timestamp":"noon"}]}`,
			"line 2, column 27: events[1].timestamp: a JSON string does not fit, want a number",
		},
		"args are an object": {
			event(`"parts":[{"functionCall":{"args":[1]}}]`),
			"line 1, column 71: events[0].parts[0].functionCall.args: a JSON array does not fit, want an object",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			contents, trace, err := adk.Compile([]byte(c.in))
			require.EqualError(t, err, "session: "+c.want)
			require.Nil(t, contents)
			require.Nil(t, trace)
		})
	}
}

func FuzzCompile(f *testing.F) {
	for _, g := range readGoldens(f) {
		f.Add([]byte(g.Session))
	}
	f.Add([]byte(`{"agent":"a","events":[{"author":"a","timestamp":1e300,"parts":[{}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		contents, _, err := adk.Compile(data)
		if err != nil {
			require.Nil(t, contents)
			require.Regexp(t, `^session: line \d+, column \d+: `, err.Error())
			return
		}
		require.NotNil(t, contents)
		first, err := json.Marshal(contents)
		require.NoError(t, err)
		contents, _, err = adk.Compile(data)
		require.NoError(t, err)
		second, err := json.Marshal(contents)
		require.NoError(t, err)
		require.Equal(t, string(first), string(second))
	})
}
