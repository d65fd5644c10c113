package worker

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/testkit/geminitest"
	"divisi/subagents/wire"
)

// readsThenWrites plays an agent that reads a file, writes its own name into it, and submits, whatever else it was told
// meanwhile.
func readsThenWrites(r geminitest.Request) geminitest.Answer {
	has := func(tool string) bool {
		for _, c := range r.Contents {
			for _, p := range c.Parts {
				if p.FunctionResponse != nil && p.FunctionResponse.Name == tool {
					return true
				}
			}
		}
		return false
	}
	call := geminitest.Call{Name: spec.ToolSubmitResult, Args: map[string]any{"summary": "ok"}}
	switch {
	case !has(spec.ToolReadFile):
		call = geminitest.Call{Name: spec.ToolReadFile, Args: map[string]any{"path": "a.txt"}}
	case !has(spec.ToolWriteFile):
		call = geminitest.Call{Name: spec.ToolWriteFile, Args: map[string]any{"path": "a.txt", "content": r.Task + "\n"}}
	}
	return geminitest.Answer{Calls: []geminitest.Call{call}}
}

// faulty is a model that plays answer, with a fault in every call whose number every divides, whichever agent makes it.
func faulty(t *testing.T, fault string, every int64, patience time.Duration, answer func(geminitest.Request) geminitest.Answer) model.Model {
	t.Helper()
	var calls atomic.Int64
	server := geminitest.Start(t, geminitest.Options{Handle: func(r geminitest.Request) geminitest.Answer {
		a := answer(r)
		if calls.Add(1)%every == 0 {
			a.Fault, a.Times, a.RetryDelay = fault, 1<<30, spec.Duration(time.Millisecond)
		}
		return a
	}})
	silence := func(string) (first, silence time.Duration) { return patience, patience }
	gemini, err := model.NewGemini(t.Context(), model.Options{
		APIKey: "a-key-of-the-test", BaseURL: server.URL, Getenv: func(string) string { return "" }, Patience: silence,
	})
	require.NoError(t, err)
	t.Cleanup(gemini.Close)
	return model.New(gemini, model.Policy{Retry: model.Retry{First: time.Millisecond, Max: time.Millisecond}})
}

// Each kind of fault meets every ninth, or every third, call of several agents that work side by side, whichever they are.
func TestFaultsOnEveryNinthAndEveryThirdCall(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("many attempts")
	}
	// ends are the ends that a fault may bring an attempt to, where its tries meet it again and again.
	for fault, ends := range map[string][]string{
		"stall": {"model_stalled"}, "hang": {"model_stalled"}, "too_long": {"model_too_long"},
		"max_tokens": {"model_truncated"}, "malformed_function_call": {"model_malformed_call"},
		"empty": {"model_empty"}, "empty_candidate": {"model_empty"}, "cut": {}, "malformed_json": {}, "429": {}, "500": {}, "503": {},
	} {
		for _, every := range []int64{9, 3} {
			patience := time.Minute
			switch {
			case slices.Contains(ends, "model_stalled"):
				patience = 300 * time.Millisecond
			case every == 9 && fault != "too_long":
				ends = nil // asking again helps: no agent meets it in three calls in a row
			}
			t.Run(fmt.Sprintf("%s on every %d", fault, every), func(t *testing.T) {
				t.Parallel()
				s := newSite(t)
				s.work(faulty(t, fault, every, patience, readsThenWrites), spec.RoleGenerator)
				var all []*wire.Assignment
				for i := range 6 {
					a := s.assignment(writer, fmt.Sprintf("agent-%d", i))
					all = append(all, a)
					s.enqueue(a)
				}
				done := 0
				for _, a := range all {
					if s.right(a, ends) {
						done++
					}
				}
				if every == 9 { // every third call can meet each of them once
					require.Positive(t, done, "a fault now and then is no reason for all to fail")
				}
			})
		}
	}
}

// right holds that an attempt has the right result, which it reports, or one of the ends.
func (s *site) right(a *wire.Assignment, ends []string) bool {
	s.t.Helper()
	r := s.result(a)
	if r.Status != spec.StatusDone {
		require.NotNil(s.t, r.Error)
		require.Contains(s.t, ends, r.Error.Class, "%s: %s", r.Status, r.Error.Message)
		return false
	}
	require.NotNil(s.t, r.Patch)
	pack, err := s.bus.Get(s.t.Context(), r.Patch.Pack)
	require.NoError(s.t, err)
	require.NoError(s.t, s.mirror.Import(s.t.Context(), pack))
	text, err := s.mirror.ReadFile(s.t.Context(), r.Patch.Commit, "a.txt", 1<<10)
	require.NoError(s.t, err)
	require.Equal(s.t, a.Task.ID+"\n", string(text))
	return true
}
