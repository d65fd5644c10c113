package loopguard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// section is a line of a case that reports what becomes of those behind it: they come Times times, with {i} for the number of
// the round, {i%3} for its rest and {iii} for as many times x. The first one reports what the case is about and which strikes are
// wanted: line, kind and number.
type section struct {
	About string   `json:"about"`
	Times int      `json:"times"`
	Want  []string `json:"want"`
}

var rounds = regexp.MustCompile(`\{(i+)(?:%(\d+))?\}`)

// load reads a case from testdata and returns its lines and the wanted strikes.
func load(t *testing.T, file string) (lines, want []string) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var sections []section
	var bodies [][]string
	for line := range strings.Lines(string(data)) {
		var s section
		if json.Unmarshal([]byte(line), &s) == nil && s.Times > 0 {
			sections, bodies = append(sections, s), append(bodies, nil)
			continue
		}
		last := len(bodies) - 1
		bodies[last] = append(bodies[last], strings.TrimSuffix(line, "\n"))
	}
	require.NotEmpty(t, sections)
	require.NotEmpty(t, sections[0].About, "a case says what it is about")
	for s, body := range bodies {
		for i := range sections[s].Times {
			for _, line := range body {
				lines = append(lines, rounds.ReplaceAllStringFunc(line, func(m string) string { return round(m, i) }))
			}
		}
	}
	return lines, sections[0].Want
}

func round(placeholder string, i int) string {
	m := rounds.FindStringSubmatch(placeholder)
	if rest, err := strconv.Atoi(m[2]); err == nil {
		i %= rest
	}
	if len(m[1]) > 1 {
		return strings.Repeat("x", i)
	}
	return strconv.Itoa(i)
}

func TestCases(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "cases", "*.jsonl"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 60)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) {
			t.Parallel()
			lines, want := load(t, file)
			got := []string{}
			require.NoError(t, Replay(strings.NewReader(strings.Join(lines, "\n")), func(event int, s *Strike) error {
				require.NotEmpty(t, s.Detail)
				require.NotEmpty(t, s.Nudge())
				got = append(got, fmt.Sprintf("%d %s %d", event, s.Kind, s.N))
				return nil
			}))
			if want == nil {
				want = []string{}
			}
			require.Equal(t, want, got)

			events := parse(t, lines)
			whole := strikes(events)
			require.Len(t, whole, len(want))
			for _, size := range []int{1, 2, 7, 1000} {
				require.Equal(t, whole, strikes(rechunk(events, size)), "in pieces of %d characters", size)
			}
		})
	}
}

func parse(t *testing.T, lines []string) []event {
	t.Helper()
	var events []event
	for _, line := range lines {
		e, err := parseEvent([]byte(line))
		require.NoError(t, err, line)
		events = append(events, e)
	}
	return events
}

// rechunk cuts the texts of events again, in pieces of so many characters: neighbours of one kind are one stream.
func rechunk(events []event, size int) []event {
	var out []event
	for i := 0; i < len(events); i++ {
		if e := events[i]; e.kind != fieldText && e.kind != fieldThought {
			out = append(out, e)
			continue
		}
		var stream []rune
		first := i
		for ; i < len(events) && events[i].kind == events[first].kind; i++ {
			stream = append(stream, []rune(events[i].text)...)
		}
		i--
		for len(stream) > 0 {
			n := min(size, len(stream))
			out = append(out, event{kind: events[first].kind, text: string(stream[:n])})
			stream = stream[n:]
		}
	}
	return out
}

// strikes replays events; each strike says at which byte of all texts and behind how many other events it came.
func strikes(events []event) []string {
	g := New()
	var out []string
	texts, others := 0, 0
	for i := range events {
		e := &events[i]
		read := 0
		if e.kind != fieldText && e.kind != fieldThought {
			others++
		}
		_ = e.feed(g, func(s *Strike) error {
			read += s.At
			out = append(out, fmt.Sprintf("%d+%d %s %d %s", texts+read, others, s.Kind, s.N, s.Detail))
			return nil
		})
		texts += len(e.text)
	}
	return out
}

func TestReplayReportsAsLinesCome(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat(`{"call":{"name":"a"}}`+"\n", 5)
	var got []int
	err := Replay(strings.NewReader("\n"+lines+"{\n"), func(event int, _ *Strike) error {
		got = append(got, event)
		return nil
	})
	var fault *LineError
	require.ErrorAs(t, err, &fault)
	require.Equal(t, 7, fault.Line, "lines count from 1, blank ones too")
	require.Equal(t, []int{5}, got, "what was found before is reported, and events count from 0")
}

func TestReplayBadLines(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"txt":"a"}`:                          `line 1: unknown field "txt" (did you mean "text"?)`,
		`{"Text":"a"}`:                         `line 1: unknown field "Text" (did you mean "text"?)`,
		`{"steering":"a"}`:                     `line 1: unknown field "steering"; the fields are text, thought, call, result, prompt`,
		`{"text":"a","thought":"b"}`:           `line 1: a line must have one of text, thought, call, result, prompt, not 2`,
		`{}`:                                   `line 1: a line must have one of text, thought, call, result, prompt, not 0`,
		`{"text":"a","text":"b"}`:              `line 1: field "text" is there twice`,
		`{"text":1}`:                           `line 1: "text" has to be a string`,
		`{"thought":null}`:                     `line 1: "thought" has to be a string`,
		`[1]`:                                  `line 1: must be one JSON object, not: "[1]"`,
		"plain \x1b[31m words":                 `line 1: must be one JSON object, not: "plain \x1b[31m words"`,
		`{"text":"a"} {"text":"b"}`:            `line 1: there is something behind the JSON object`,
		`{"text":"a"`:                          `line 1: the JSON object has no end`,
		`{"text":}`:                            `line 1: field "text" is not JSON: `,
		`{"call":{"name":"a","arguments":{}}}`: `line 1: call: unknown field "arguments"; the fields are name, args`,
		`{"call":{"args":{}}}`:                 `line 1: call: want a "name" that is a string`,
		`{"call":{"name":"","args":{}}}`:       `line 1: call: want a "name" that is a string`,
		`{"call":{"name":"a","args":[1]}}`:     `line 1: call: "args" has to be an object`,
		`{"call":"a"}`:                         `line 1: call: must be one JSON object, not: "\"a\""`,
		`{"text":"` + strings.Repeat("a", maxLine): `line 1: the line is longer than 16777216 bytes`,
	} {
		err := Replay(strings.NewReader(line), func(int, *Strike) error { return nil })
		var fault *LineError
		require.ErrorAs(t, err, &fault, "%.60s", line)
		require.Contains(t, err.Error(), want)
	}
}

func TestReplayTakesAnyResultAndPrompt(t *testing.T) {
	t.Parallel()
	in := `{"prompt":null}` + "\r\n" + `{"prompt":{"a":[]}}` + "\n \n" + `{"result":null}` + "\n" + `{"result":1e400}` + "\n" +
		`{"call":{"name":"a","args":null}}`
	require.NoError(t, Replay(strings.NewReader(in), func(int, *Strike) error { return nil }))
}

func FuzzReplay(f *testing.F) {
	f.Add([]byte(`{"text":"a"}`))
	f.Add([]byte("{\"call\":{\"name\":\"a\",\"args\":{\"n\":1e5,\"l\":[true,null,\"x\"]}}}\n{\"result\":{}}\n\n{\"prompt\":1}"))
	f.Add([]byte(strings.Repeat(`{"thought":"OK\n"}`+"\n", 60)))
	f.Fuzz(func(t *testing.T, data []byte) {
		last := -1
		err := Replay(bytes.NewReader(data), func(event int, s *Strike) error {
			require.GreaterOrEqual(t, event, last)
			require.Contains(t, []int{1, maxStrikes}, s.N)
			last = event
			return nil
		})
		var fault *LineError
		if err != nil {
			require.ErrorAs(t, err, &fault)
			require.Positive(t, fault.Line)
		}
	})
}
