package redact_test

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/decision"
	"divisi/orchestrator/redact"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/subagents/wire"
)

// recorded is a log of 325 events.
func recorded(t *testing.T) (events []contextscope.Event) {
	t.Helper()
	data, err := os.ReadFile("../console/testdata/sample.jsonl")
	require.NoError(t, err)
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		var e contextscope.Event
		require.NoError(t, json.Unmarshal(lines.Bytes(), &e))
		events = append(events, e)
	}
	return events
}

// folded is what the fold makes of a log, and of the same as a viewer is shown it.
func folded(t *testing.T, events []contextscope.Event) (whole, redacted *run.State) {
	t.Helper()
	whole, redacted = run.NewState(), run.NewState()
	v := redact.New(events[0].Run, []byte("s"))
	for _, e := range events {
		seen := v.Event(e)
		require.Equal(t, whole.Apply(&e), redacted.Apply(&seen)) // the sample has events that no fold takes
	}
	return whole, redacted
}

// TestTheFoldOfAViewerIsThatOfTheLog: what is concealed changes no state, and nothing that is counted.
func TestTheFoldOfAViewerIsThatOfTheLog(t *testing.T) {
	t.Parallel()
	whole, redacted := folded(t, recorded(t))
	a, b := view.Of(whole), view.Of(redacted)
	require.Equal(t, a.State, b.State)
	require.Equal(t, a.Times, b.Times)
	require.Equal(t, a.Usage, b.Usage)
	require.Equal(t, a.Roles, b.Roles)
	require.Equal(t, a.Verdicts, b.Verdicts)
	require.Equal(t, []int{a.Batches, a.GateRuns, a.OneByOne, a.Added, a.Deleted, a.Files},
		[]int{b.Batches, b.GateRuns, b.OneByOne, b.Added, b.Deleted, b.Files})
	require.Equal(t, whole.Spent, redacted.Spent)
	require.Equal(t, whole.Batches, redacted.Batches)
	require.Len(t, b.Tasks, len(a.Tasks))
	for i := range a.Tasks {
		x, y := a.Tasks[i], b.Tasks[i]
		require.Equal(t, []any{x.ID, x.State, x.Attempts, x.Usage, x.Turns, x.Commit, x.Steps, x.Saved},
			[]any{y.ID, y.State, y.Attempts, y.Usage, y.Turns, y.Commit, y.Steps, y.Saved})
		require.Len(t, y.Failures, len(x.Failures))
	}
	require.Len(t, b.Gates, len(a.Gates))
	for i := range a.Gates {
		x, y := a.Gates[i], b.Gates[i]
		require.Equal(t, []any{x.Gate, x.Verdict, len(x.New), len(x.Known), len(x.Fixed)},
			[]any{y.Gate, y.Verdict, len(y.New), len(y.Known), len(y.Fixed)})
	}
	require.Len(t, decision.Open(redacted), len(decision.Open(whole)))
}

// TestAForgedReceiptDoesNotCountBehindARedactor: the host checks what a viewer cannot check any more.
func TestAForgedReceiptDoesNotCountBehindARedactor(t *testing.T) {
	t.Parallel()
	public, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	good := spec.Receipt{Gate: "test", Tree: "tree", Verdict: spec.VerdictPass, Tail: "printed"}
	require.NoError(t, wire.Sign("r", "a", key, &good))
	forged := good
	forged.Tail = "other"
	begin := of(contextscope.KindRun, "conductor", run.Data{State: run.Running, Spec: &run.Spec{
		Run: "r", Keys: map[string][]byte{"a": public}, Roles: map[string]spec.Role{"tester": {}},
	}})
	dispatch := of(contextscope.KindRun, "conductor", run.Data{Dispatch: &run.Dispatch{Task: "--baseline", Attempt: 1, Role: "tester"}})
	for name, c := range map[string]struct {
		receipt spec.Receipt
		counts  int
	}{"signed": {good, 1}, "forged": {forged, 0}} {
		v, st := redact.New("r", []byte("s")), run.NewState()
		gate := of(contextscope.KindReceipt, "--baseline/1", c.receipt)
		gate.Task, gate.Attempt, gate.Agent, gate.Role, gate.Worker = "--baseline", 1, "--baseline/1", "tester", "a"
		began := of(contextscope.KindStarted, "--baseline/1", wire.Started{Delivery: 1})
		began.Task, began.Attempt, began.Agent, began.Role, began.Worker = "--baseline", 1, "--baseline/1", "tester", "a"
		for i, e := range []contextscope.Event{begin, dispatch, began, gate} {
			e.Pos = uint64(i + 1)
			e = v.Event(e)
			require.NoError(t, st.Apply(&e), name)
		}
		require.Len(t, st.Works.Attempt("--baseline", 1).Receipts, c.counts, name)
		require.Len(t, st.Notices, 1-c.counts, name)
	}
}

// TestAGuessCannotBeTried: nothing that is shown of a receipt can be computed from what its gate printed.
func TestAGuessCannotBeTried(t *testing.T) {
	t.Parallel()
	public, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	r := spec.Receipt{Gate: "test", Verdict: spec.VerdictFail, Signatures: []string{"test: a"}, Output: wire.Name("output", []byte("printed"))}
	require.NoError(t, wire.Sign("r", "a", key, &r))
	begin := of(contextscope.KindRun, "conductor", run.Data{Spec: &run.Spec{Run: "r", Keys: map[string][]byte{"a": public}}})
	seen := map[string]spec.Receipt{}
	for _, secret := range []string{"one", "two", "one"} {
		v := redact.New("r", []byte(secret))
		v.Event(begin)
		e := v.Event(of(contextscope.KindReceipt, "t/1", r))
		var got spec.Receipt
		require.NoError(t, json.Unmarshal(e.Data, &got))
		require.NotEmpty(t, got.Signature)
		require.NotEqual(t, r.Signature, got.Signature)
		require.Empty(t, got.Output)
		if had, again := seen[secret]; again {
			require.Equal(t, had, got)
		}
		seen[secret] = got
	}
	require.NotEqual(t, seen["one"].Signatures, seen["two"].Signatures)
}
