package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/testkit/modeltest"
)

const thisRun, otherRun = "20261121-164752-37cb", "20261121-164810-eb77"

// fake answers as the test says.
type fake func(req *model.Request, yield func(model.Event, error) bool)

func (f fake) Generate(_ context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) { f(req, yield) }
}

// says answers with a text.
func says(text string) fake {
	return func(_ *model.Request, yield func(model.Event, error) bool) {
		yield(model.Event{Result: &model.Result{Content: genai.NewContentFromText(text, "model"), Finish: "STOP"}}, nil)
	}
}

func fails(err *model.Error) fake {
	return func(_ *model.Request, yield func(model.Event, error) bool) { yield(model.Event{}, err) }
}

// recorder opens a recording in a directory; what goes wrong fails the test.
func recorder(t *testing.T, dir, run string, secrets ...string) *Recorder {
	t.Helper()
	r, err := Open(Options{Dir: dir, Run: run, Secrets: secrets, OnError: func(err error) { t.Error(err) }})
	require.NoError(t, err)
	return r
}

// replay loads a recording.
func replay(t *testing.T, dir string, secrets ...string) *Replay {
	t.Helper()
	r, err := Load(dir, secrets)
	require.NoError(t, err)
	return r
}

// ask makes a request of a turn of task t.
func ask(run, text string, turn int) *model.Request {
	req := modeltest.Ask("t", text)
	req.Meta.Run, req.Meta.Turn = run, turn
	return req
}

// step is what a caller sees of an event.
type step struct {
	event model.Event
	err   error
}

func steps(ctx context.Context, m model.Model, req *model.Request) []step {
	var out []step
	for ev, err := range m.Generate(ctx, req) {
		out = append(out, step{ev, err})
	}
	return out
}

func text(t *testing.T, m model.Model, req *model.Request) string {
	t.Helper()
	res, err := modeltest.Collect(t.Context(), m, req)
	require.Nil(t, err)
	return res.Content.Parts[0].Text
}

// A caller cannot tell a replay from what was recorded: every delta, the whole result, and failures.
func TestAReplayIsWhatWasRecorded(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "tape")
	usage := spec.Usage{Calls: 2, Prompt: 100, Cached: 40, Output: 7, Thoughts: 3}
	call := &genai.Part{FunctionCall: &genai.FunctionCall{
		ID: "call_1", Name: "edit", Args: map[string]any{"n": 1.5, "list": []any{"<a>", nil, true}},
	}, ThoughtSignature: []byte("sig\x00\xff")}
	whole := fake(func(_ *model.Request, yield func(model.Event, error) bool) {
		_ = yield(model.Event{Delta: &genai.Part{Text: "hm", Thought: true}}, nil) &&
			yield(model.Event{Delta: &genai.Part{Text: "a\nb"}, Restart: true}, nil) &&
			yield(model.Event{Delta: call}, nil) &&
			yield(model.Event{Result: &model.Result{
				Content: &genai.Content{Role: "model", Parts: []*genai.Part{{Text: "a\nb"}, call}}, Finish: "MAX_TOKENS",
				Usage: usage, Wasted: spec.Usage{Calls: 1}, Model: "version", ResponseID: "id", StandIn: "other", Tier: "priority",
			}}, nil)
	})
	broken := fake(func(_ *model.Request, yield func(model.Event, error) bool) {
		if yield(model.Event{Delta: &genai.Part{Text: "half"}}, nil) {
			yield(model.Event{}, &model.Error{
				Class: model.RateLimited, Message: "wait", RetryAfter: 90 * time.Second, Quota: "q", Status: 429, Usage: usage,
			})
		}
	})
	r := recorder(t, dir, thisRun)
	var want [][]step
	for turn, m := range []model.Model{whole, broken} {
		want = append(want, steps(t.Context(), r.Model(m), ask(thisRun, "x", turn+1)))
	}
	p := replay(t, dir)
	for range 2 { // once more is answered once more
		for turn := range want {
			require.Equal(t, want[turn], steps(t.Context(), p, ask(otherRun, "x", turn+1)))
		}
	}
	for range p.Generate(t.Context(), ask(thisRun, "x", 1)) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := modeltest.Collect(ctx, p, ask(thisRun, "x", 1))
	require.Equal(t, model.Cancelled, err.Class)
}

// The strict service recorded and replayed, over a whole conversation.
func TestAConversationReplays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := modeltest.FromYAML(`rules: [{steps: [
		{thought: both, calls: [{name: read, args: {path: a}}, {name: read, args: {path: b}}], chunk: 2}, {no_ids: true, calls: [{name: read}]},
		{fault: 503, times: 1, text: done}]}]`)
	require.NoError(t, err)
	talk := func(m model.Model) string {
		req := modeltest.Ask("t", "go")
		for turn := 1; turn <= 3; turn++ {
			req.Meta.Turn = turn
			res, err := modeltest.Collect(t.Context(), m, req)
			require.Nil(t, err)
			req.Contents = append(req.Contents, res.Content)
			if turn < 3 {
				req.Contents = append(req.Contents, modeltest.Respond(res.Content))
			}
		}
		raw, err := json.Marshal(req.Contents)
		require.NoError(t, err)
		return string(raw)
	}
	live := talk(recorder(t, dir, thisRun).Model(model.New(s, model.Policy{Retry: model.Retry{First: time.Millisecond}})))
	require.Empty(t, s.Violations())
	require.Equal(t, live, talk(replay(t, dir)))
}

func TestNoSecretComesIntoAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const key, odd = "AIzaSyVerySecret", `quo"ted\secret<"`
	r := recorder(t, dir, thisRun, key[:9], key, odd, "short", "")
	req := ask(thisRun, "this is short; my keys are "+key+" and "+odd, 1)
	req.Config = &genai.GenerateContentConfig{HTTPOptions: &genai.HTTPOptions{Headers: map[string][]string{"X": {"header value"}}}}
	text(t, r.Model(says("you told me "+key)), req)
	names, err := r.dir.names()
	require.NoError(t, err)
	require.Len(t, names, 1)
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		for _, s := range []string{key, key[9:], odd, `quo\"ted`, "header value"} {
			require.NotContains(t, string(data), s)
		}
		require.Contains(t, string(data), "[secret]")
	}
	require.Equal(t, "you told me [secret]", text(t, replay(t, dir, key, odd), req), "what is left out is no difference")
}

func TestNoSecretComesIntoAFileInPieces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pieces := fake(func(_ *model.Request, yield func(model.Event, error) bool) {
		for _, piece := range []string{"it is sk-sec", "ret-", "0123."} {
			if !yield(model.Event{Delta: &genai.Part{Text: piece}}, nil) {
				return
			}
		}
		yield(model.Event{Result: &model.Result{Content: genai.NewContentFromText("it is sk-secret-0123.", "model")}}, nil)
	})
	text(t, recorder(t, dir, thisRun, "sk-secret-0123").Model(pieces), ask(thisRun, "x", 1))
	data, err := os.ReadFile(filepath.Join(dir, "t.1.001.turn.1.json"))
	require.NoError(t, err)
	require.NotContains(t, string(data), "sk-sec")
	require.NotContains(t, string(data), "0123")
	require.Equal(t, "it is [secret].", text(t, replay(t, dir), ask(thisRun, "x", 1)))
}

func TestWhatDiffersIsAnErrorThatSaysWhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text(t, recorder(t, dir, thisRun).Model(says("answer")), ask(thisRun, "one\ntwo", 1))
	p := replay(t, dir)
	_, err := modeltest.Collect(t.Context(), p, ask(otherRun, "one\nzwei", 1))
	require.NotNil(t, err)
	require.Equal(t, model.Unavailable, err.Class)
	require.Equal(t, "the recording "+dir+" has another request for t, attempt 1, turn 1 (turn) in t.1.001.turn.1.json: "+
		`contents[0].parts[0].text, line 2, was "two" and is "zwei"`, err.Message)
	require.Equal(t, "answer", text(t, p, ask(otherRun, "one\ntwo", 1)), "what was asked otherwise took no answer")
}

// Parallel calls of one key get the answers to what they asked, in whatever order they ask.
func TestTheSameQuestionComesFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := recorder(t, dir, thisRun).Model(fake(func(req *model.Request, yield func(model.Event, error) bool) {
		says("re: "+req.Contents[0].Parts[0].Text)(req, yield)
	}))
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() { text(t, m, ask(thisRun, fmt.Sprint(i), 1)) })
	}
	wg.Wait()
	p := replay(t, dir)
	for i := range 12 {
		wg.Go(func() { require.Equal(t, fmt.Sprint("re: ", 11-i), text(t, p, ask(thisRun, fmt.Sprint(11-i), 1))) })
	}
	wg.Wait()
	_, err := modeltest.Collect(t.Context(), p, ask(thisRun, "another", 1))
	require.NotNil(t, err)
	require.Contains(t, err.Message, "in t.1.001.turn.1.json: ", "the first is what it is compared with")
}

// The same question once more gets what was answered then, in the order in which it was asked.
func TestTheSameQuestionIsAnsweredInOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := recorder(t, dir, thisRun)
	for i := range 12 {
		text(t, r.Model(says(fmt.Sprint(i))), ask(thisRun, "x", 1))
	}
	p := replay(t, dir)
	for i := range 12 {
		require.Equal(t, fmt.Sprint(i), text(t, p, ask(thisRun, "x", 1)))
	}
	require.Equal(t, "11", text(t, p, ask(thisRun, "x", 1)))
}

func TestAMissingExchangeSaysHowFarTheRecordingGoes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := recorder(t, dir, thisRun).Model(says("x"))
	text(t, m, ask(thisRun, "x", 1))
	text(t, m, ask(thisRun, "x", 2))
	p := replay(t, dir)
	text(t, p, ask(thisRun, "x", 2))
	other := ask(thisRun, "x", 1)
	other.Meta.Attempt = 2
	foreign := modeltest.Ask("u", "x")
	for _, c := range []struct {
		req  *model.Request
		want string
	}{
		{ask(thisRun, "x", 3), "has no answer for t, attempt 1, turn 3 (turn): it ends with turn 2 of that attempt"},
		{ask(thisRun, "y", 2), "has another request for t, attempt 1, turn 2 (turn) in t.1.002.turn.1.json: contents[0].parts[0].text was"},
		{ask(thisRun, "x", 0), "has no answer for t, attempt 1, turn 0 (turn): a file is missing, for it goes on to turn 2"},
		{other, "has no answer for t, attempt 2, turn 1 (turn): it ends with attempt 1"},
		{foreign, "has no answer for u, attempt 1, turn 1 (turn): it has nothing of that task"},
	} {
		_, err := modeltest.Collect(t.Context(), p, c.req)
		require.Equal(t, model.Unavailable, err.Class)
		require.Contains(t, err.Message, "the recording "+dir+" "+c.want)
	}
}

// A run that was killed or stopped asks again what it lost the answer of: that answer counts.
func TestTheNewestSessionCounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text(t, recorder(t, dir, thisRun).Model(says("lost")), ask(thisRun, "x", 1))
	text(t, recorder(t, dir, thisRun).Model(says("kept")), ask(thisRun, "x", 1))
	require.Equal(t, "kept", text(t, replay(t, dir), ask(thisRun, "x", 1)))
}

func TestWhatWasBrokenOffCountsOnlyAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := recorder(t, dir, thisRun)
	half := r.Model(fake(func(_ *model.Request, yield func(model.Event, error) bool) {
		yield(model.Event{Delta: &genai.Part{Text: "half"}}, nil)
	}))
	for turn := 1; turn <= 2; turn++ {
		for range half.Generate(t.Context(), ask(thisRun, "x", turn)) {
			break
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("it said nothing for too long"))
	steps(ctx, r.Model(fails(model.AsError(context.Canceled))), ask(thisRun, "x", 3))
	text(t, r.Model(says("whole")), ask(thisRun, "changed a little", 1))
	p := replay(t, dir)
	require.Equal(t, "whole", text(t, p, ask(thisRun, "changed a little", 1)))
	_, err := modeltest.Collect(t.Context(), p, ask(thisRun, "x", 1))
	require.NotNil(t, err)
	require.Contains(t, err.Message, `was "changed a little" and is "x"`)
	got := steps(t.Context(), p, ask(thisRun, "x", 2))
	require.Equal(t, "half", got[0].event.Delta.Text)
	require.Equal(t, model.Cancelled, model.AsError(got[1].err).Class)
	got = steps(t.Context(), p, ask(thisRun, "x", 3))
	require.EqualError(t, got[0].err, "model: cancelled: it said nothing for too long")
	require.ErrorIs(t, got[0].err, context.Canceled)
}

func TestTheExchangeIsThereBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for ev := range recorder(t, dir, thisRun).Model(says("x")).Generate(t.Context(), ask(thisRun, "x", 1)) {
		require.NotNil(t, ev.Result)
		require.FileExists(t, filepath.Join(dir, "t.1.001.turn.1.json"))
		break
	}
	require.Equal(t, "x", text(t, replay(t, dir), ask(thisRun, "x", 1)), "it is whole, and not broken off")
}

func TestARecordingBeginsInAnEmptyPlaceAndGoesOnInItsOwn(t *testing.T) {
	t.Parallel()
	open := func(dir, run string) error {
		_, err := Open(Options{Dir: dir, Run: run})
		return err
	}
	foreign := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(foreign, "notes.txt"), nil, 0o600))
	require.ErrorContains(t, open(foreign, thisRun), "is not empty, and it is no recording: name another directory")
	require.ErrorContains(t, open(filepath.Join(foreign, "notes.txt"), thisRun), "notes.txt")

	dir := filepath.Join(t.TempDir(), "a", "b")
	require.NoError(t, open(dir, "failed"))
	require.NoError(t, open(dir, thisRun), "a run that came to no call leaves the place free")
	for i := range 11 {
		text(t, recorder(t, dir, thisRun).Model(says(fmt.Sprint(i))), ask(thisRun, "x", 1))
	}
	require.FileExists(t, filepath.Join(dir, "t.1.001.turn.11.json"), "nothing is written over")
	require.ErrorContains(t, open(dir, otherRun), "is the recording of run "+thisRun+": name another directory")
	require.Equal(t, "10", text(t, replay(t, dir), ask(thisRun, "x", 1)))

	require.NoError(t, os.WriteFile(filepath.Join(dir, markerFile), []byte(`{"format": 2, "run": "r"}`), 0o600))
	require.ErrorContains(t, open(dir, thisRun), "recording.json has format 2, and this program reads 1")
}

func TestAnExchangeThatCannotBeKeptIsToldAndTheCallGoesOn(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "tape")
	var faults []error
	r, err := Open(Options{Dir: dir, Run: thisRun, OnError: func(err error) { faults = append(faults, err) }})
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(dir))
	require.Equal(t, "x", text(t, r.Model(says("x")), ask(thisRun, "x", 1)))
	require.Len(t, faults, 1)
	require.ErrorContains(t, faults[0], "t.1.001.turn.1.json")
	req := ask(thisRun, "x", 2)
	req.Contents[0].Parts[0] = &genai.Part{FunctionCall: &genai.FunctionCall{Name: "f", Args: map[string]any{"c": make(chan int)}}}
	require.Equal(t, "x", text(t, r.Model(says("x")), req))
	require.Len(t, faults, 2)
	require.ErrorContains(t, faults[1], "the call of t, attempt 1, turn 2 (turn) was not recorded")
}

// Recordings of older versions have files of embeddings: they are no exchanges, and no fault.
func TestFilesOfEmbeddingsArePassedOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text(t, recorder(t, dir, thisRun).Model(says("x")), ask(thisRun, "x", 1))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "embedding-00ff.json"), []byte(`{"model": "m", "vector": [1]}`), 0o600))
	require.Equal(t, "x", text(t, replay(t, dir), ask(thisRun, "x", 1)))
}

func TestFilesHaveNamesThatEveryDiskTakes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	req := ask(thisRun, "x", 1)
	req.Meta.Task, req.Meta.Purpose = "../a/b", "c d"
	text(t, recorder(t, dir, thisRun).Model(says("x")), req)
	require.FileExists(t, filepath.Join(dir, "%2E%2E%2Fa%2Fb.1.001.c%20d.1.json"))
	require.Equal(t, "x", text(t, replay(t, dir), req))
}

func TestFilesAreForPeople(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text(t, recorder(t, dir, thisRun).Model(says("a < b")), ask(thisRun, "x & y", 1))
	data, err := os.ReadFile(filepath.Join(dir, "t.1.001.turn.1.json"))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(data), "{\n \"task\": \"t\",\n \"attempt\": 1,\n"))
	require.Contains(t, string(data), "a < b")
	require.Contains(t, string(data), "x & y")
}
