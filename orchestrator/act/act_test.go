package act

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/request"
	"divisi/orchestrator/run"
)

// Each act has one sentence of help, a schema whose fields are described, callers, runs and doors, and an act that undoes it exists.
func TestEachEntryIsWhole(t *testing.T) {
	t.Parallel()
	for _, e := range All() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			require.Same(t, e, Find(e.Name))
			require.Regexp(t, `^[A-Z][^\n]*\.$`, e.Help)
			require.NotZero(t, e.Who)
			require.NotZero(t, e.On)
			require.NotZero(t, e.Doors)
			require.Regexp(t, `^[A-Z][a-z ]+$`, e.Label)
			if e.Undo != "" {
				require.NotNil(t, Find(e.Undo))
			} else {
				require.Empty(t, e.Until, "until when it can be undone, and not how")
			}
			s := e.Schema()
			for name, p := range s.Properties {
				require.NotEmpty(t, p.Description, name)
				require.Regexp(t, `^[a-z_]+$`, name)
			}
			require.Contains(t, []string{"", "object"}, s.Type)
		})
	}
}

// Who only reads or works does nothing to a run, and what needs the machine of the run is refused to others.
func TestNoActIsForViewersAndWorkers(t *testing.T) {
	t.Parallel()
	for _, e := range All() {
		q := Request{Act: e.Name, Args: json.RawMessage(`{"task":"a","tasks":["a"],"option":"o"}`)}
		for _, who := range []Caller{Viewer, Worker} {
			_, err := q.Read(who)
			require.ErrorAs(t, err, new(*request.RefusedError), e.Name)
			require.ErrorContains(t, err, "may not do that: "+Public(e.Name))
		}
		require.NoError(t, e.May(Local), e.Name)
	}
	require.Error(t, Find("give").May(Owner))
}

// A request has the arguments of its act and no others, in their bounds, and nothing that only the process which asks prepares.
func TestRequestsAreReadStrictly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		q    Request
		want string
	}{
		"an unknown act":        {Request{Act: "fly_away"}, `unknown act "fly away": another version of Divisi may know it`},
		"a field of another":    {Request{Act: "pause", Args: json.RawMessage(`{"task":"a"}`)}, "arguments of pause cannot be read"},
		"two values":            {Request{Act: "pause", Args: json.RawMessage(`{}{}`)}, "more than one value"},
		"a number":              {Request{Act: "accept", Args: json.RawMessage(`{"task":"a","attempt":-1}`)}, "-1 is not from 0"},
		"no task":               {Request{Act: "skip", Args: json.RawMessage(`{"tasks":[]}`)}, "skip needs a task"},
		"no arguments":          {Request{Act: "decide"}, "decide needs a decision"},
		"no option":             {Request{Act: "decide", Args: json.RawMessage(`{"decision":"a@1"}`)}, "decide needs an option"},
		"a long text":           {Request{Act: "send", Args: long("text", strings.Repeat("x", maxText+1))}, "the text of send has 65537 bytes"},
		"a long task":           {Request{Act: "skip", Args: long("tasks", []string{"a", strings.Repeat("x", maxText+1)})}, "the task of skip has 65537 bytes"},
		"a NUL":                 {Request{Act: "send", Args: long("text", "a\x00")}, "the text of send has a NUL character"},
		"many tasks":            {Request{Act: "skip", Args: long("tasks", make([]string, maxList+1))}, "skip takes at most 10000 tasks"},
		"a patch among them":    {Request{Act: "drop", Args: json.RawMessage(`{"tasks":["a"],"patch":{}}`)}, "unknown field"},
		"files among them":      {Request{Act: "retry", Args: json.RawMessage(`{"Changed":{}}`)}, "unknown field"},
		"nothing to prepare":    {Request{Act: "skip", Args: json.RawMessage(`{"tasks":["a"]}`), With: json.RawMessage(`{}`)}, "nothing that is prepared"},
		"another's preparation": {Request{Act: "retry", With: json.RawMessage(`{"patch":{}}`)}, "arguments of retry cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := c.q.Read(Local)
			require.ErrorAs(t, err, new(*request.RefusedError))
			require.ErrorContains(t, err, c.want)
		})
	}
}

func long(field string, v any) json.RawMessage {
	data, err := json.Marshal(map[string]any{field: v})
	if err != nil {
		panic(err)
	}
	return data
}

// What is asked arrives as it was, also what was prepared for it.
func TestARequestArrivesAsItWas(t *testing.T) {
	t.Parallel()
	patch := &spec.Patch{Base: "b", Commit: "c"}
	for _, a := range []Args{
		Skip{Tasks: []string{"a", "b"}, Reason: "why"},
		Drop{Tasks: []string{"a"}, Patch: patch},
		Give{Task: "a", Patch: patch},
		Retry{Brief: "b", Forgotten: true, Changed: Changed{
			Plan: &spec.Plan{}, Roles: map[string]spec.Role{"r": {Name: "r"}}, Notices: []string{"n"},
		}},
		Decide{Decision: "a@1", Option: "accept", Attempt: 2, Alike: true},
		Pause{},
	} {
		q, err := NewRequest(a, "user:ann")
		require.NoError(t, err)
		data, err := json.Marshal(q)
		require.NoError(t, err)
		var got Request
		require.NoError(t, json.Unmarshal(data, &got))
		require.Equal(t, "user:ann", got.By)
		read, err := got.Read(Local)
		require.NoError(t, err)
		require.Equal(t, a, read)
	}
}

func TestTheTaskOfARequest(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`{"task":"a"}`: "a", `{"tasks":["a"]}`: "a", `{"tasks":["a","b"]}`: "", `{}`: "", `[]`: "", ``: "",
	} {
		q := Request{Args: json.RawMessage(args)}
		require.Equal(t, want, q.Task(), args)
	}
}

// An act on a run that has ended is refused by its entry before its effect sees the run.
func TestEntriesKeepToTheirRuns(t *testing.T) {
	t.Parallel()
	s := run.NewState()
	s.Spec.Run, s.Status = "r1", run.Done
	for _, e := range All() {
		a, err := e.read(nil, nil)
		require.NoError(t, err)
		if e.Conducted() && e.On&Ended != 0 {
			continue
		}
		_, _, err = Propose(t.Context(), nil, s, a, "user:ann")
		require.ErrorAs(t, err, new(*request.RefusedError), e.Name)
		require.True(t, !e.Conducted() || err.Error() == "run r1 is over: done", "%s: %v", e.Name, err)
	}
}

// Arguments are plain: what a door can describe in one line each.
func TestArgumentsArePlain(t *testing.T) {
	t.Parallel()
	for _, e := range All() {
		a, err := e.read(nil, nil)
		require.NoError(t, err)
		for f := range reflect.TypeOf(a).Fields() {
			if f.Tag.Get("json") == "-" {
				continue
			}
			kinds := []string{"string", "[]string", "int", "bool", "time.Time"}
			require.True(t, slices.Contains(kinds, f.Type.String()), "%s %s", e.Name, f.Name)
		}
	}
}

func TestUndone(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Nothing undoes it.", Find("skip").Undone(OnButton))
	require.Equal(t, "Undo it with Start the line.", Find("stop_line").Undone(OnButton))
	require.Equal(t, "Undo it with divisi decide until the run acts on it.", Find("decide").Undone(InTerminal))
}
