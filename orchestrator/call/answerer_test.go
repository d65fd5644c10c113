package call_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/internal/usage"
	"divisi/orchestrator/call"
	"divisi/orchestrator/request"
)

// counted is a body with a number that has a range.
type counted struct {
	N int `json:"n" maximum:"5"`
}

var double = call.Kind[counted, int]{Name: "double", May: call.Reader, Size: 200, Burst: 3, Every: time.Hour}

// sums is who answers: what it got, and the error that it returns.
type sums struct {
	got []int
	err error
}

func (s *sums) double(_ context.Context, _ *call.In, q *counted) (int, error) {
	s.got = append(s.got, q.N)
	return 2 * q.N, s.err
}

func answerer(s *sums) *call.Answerer[*sums] {
	return &call.Answerer[*sums]{
		Table: call.TableOf(call.On(double, (*sums).double)), As: s, Log: zerolog.Nop(), Pace: &call.Pace{},
		May: func(_ context.Context, may call.Who, in *call.In) error {
			if in.From == "eve" {
				return call.Refusedf("%s is no caller %d", in.From, may)
			}
			return nil
		},
	}
}

func answer(t *testing.T, d *call.Answerer[*sums], from, text string) string {
	t.Helper()
	data, err := d.Answer(t.Context(), bus.Message{Subject: "host.read." + from, Data: []byte(text)})
	require.NoError(t, err)
	return string(data)
}

// A function sees no body before all of the call has been checked.
func TestACallIsCheckedBeforeItIsDone(t *testing.T) {
	t.Parallel()
	s := &sums{}
	d := answerer(s)
	for text, want := range map[string]string{
		`{`:                                     "cannot be read",
		`[]`:                                    "cannot be read",
		`{"call":"double","more":1}`:            "cannot be read",
		`{"call":"double"}{}`:                   "cannot be read",
		`{"call":"double","call":"other"}`:      "cannot be read",
		`{"call":"double","at":{"attempt":-1}}`: "attempt: -1 is not from 0",
		`{"verb":"double"}`:                     "another version of Divisi",
		`{"call":"other"}`:                      "unknown call",
		`{"call":"double","run":"` + strings.Repeat("r", 200) + `"}`: "and may have 200",
	} {
		require.Contains(t, answer(t, d, "ada", text), want, text)
	}
	require.Contains(t, answer(t, d, "eve", `{"call":"double","body":{"n":1}}`), "eve is no caller")
	for i, body := range []string{`{"n":6}`, `{"n":1,"m":1}`, `{"n":"1"}`, `{"n":1} 2`} {
		who := fmt.Sprint("who", i)
		require.Contains(t, answer(t, d, who, `{"call":"double","body":`+body+`}`), "cannot be read", body)
	}
	require.Empty(t, s.got)
	require.JSONEq(t, `{"result":4}`, answer(t, d, "bob", `{"call":"double","body":{"n":2}}`))
	require.JSONEq(t, `{"id":"7","result":0}`, answer(t, d, "bob", `{"call":"double","id":"7"}`))
	require.Equal(t, []int{2, 0}, s.got)
}

// Each caller has its own pace, and is told to ask again beyond it.
func TestACallHasAPace(t *testing.T) {
	t.Parallel()
	d := answerer(&sums{})
	for range 3 {
		require.NotContains(t, answer(t, d, "ada", `{"call":"double"}`), "again")
	}
	require.Contains(t, answer(t, d, "ada", `{"call":"double"}`), `"class":"again"`)
	require.NotContains(t, answer(t, d, "bob", `{"call":"double"}`), "again")
}

// Where who answers stops, or another process does, what a function returned is not told.
func TestWhoAnswersStops(t *testing.T) {
	t.Parallel()
	s := &sums{}
	d := answerer(s)
	d.Gone = "it stops"
	ctx, end := context.WithCancel(t.Context())
	end()
	data, err := d.Answer(ctx, bus.Message{Subject: "host.read.ada", Data: []byte(`{"call":"double"}`)})
	require.NoError(t, err)
	require.JSONEq(t, `{"error":"it stops","class":"gone"}`, string(data))
	s.err = fmt.Errorf("%w: not yet", call.ErrUnanswered)
	_, err = d.Answer(t.Context(), bus.Message{Subject: "host.read.ada", Data: []byte(`{"call":"double"}`)})
	require.ErrorIs(t, err, call.ErrUnanswered)
	d.Held = func() error { return bus.ErrLeaseLost }
	_, err = d.Answer(t.Context(), bus.Message{Subject: "host.read.ada", Data: []byte(`{"call":"double"}`)})
	require.ErrorIs(t, err, bus.ErrLeaseLost)
}

// line is a way to an answerer, with answers that come before its own; "" is silence.
func line(d *call.Answerer[*sums], before ...string) call.Line {
	return call.Line{Timeout: time.Minute, Request: func(ctx context.Context, _ call.Who, data []byte) ([]byte, error) {
		if len(before) == 0 {
			return d.Answer(ctx, bus.Message{Subject: "host.read.ada", Data: data})
		}
		next := before[0]
		if before = before[1:]; next == "" {
			return nil, bus.ErrNoAnswer
		}
		return []byte(next), nil
	}}
}

func TestAnErrorKeepsItsClassOnTheWay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err   error
		class call.Class
		usage bool
	}{
		{usage.Errorf("a mistake"), call.Refused, true},
		{request.Refusedf("a mistake"), call.Refused, true},
		{&call.Error{Class: call.Lacks, Text: "it lacks it"}, call.Lacks, false},
		{errors.New("it failed"), "", false},
	} {
		_, err := call.Ask(t.Context(), line(answerer(&sums{err: c.err})), double, call.Head{}, counted{})
		require.EqualError(t, err, c.err.Error())
		require.Equal(t, c.class, call.ClassOf(err))
		require.Equal(t, c.usage, errors.As(err, new(*usage.Error)))
		require.ErrorAs(t, err, new(*call.Error))
	}
}

// A call for which there is no place is made again; one without an answer, or whose conductor stops, where its line says so.
func TestACallIsMadeAgain(t *testing.T) {
	t.Parallel()
	again, gone := `{"error":"later","class":"again"}`, `{"error":"it stops","class":"gone"}`
	got, err := call.Ask(t.Context(), line(answerer(&sums{}), again), double, call.Head{}, counted{2})
	require.NoError(t, err)
	require.Equal(t, 4, got)
	_, err = call.Ask(t.Context(), line(answerer(&sums{}), ""), double, call.Head{}, counted{2})
	require.ErrorIs(t, err, bus.ErrNoAnswer)
	_, err = call.Ask(t.Context(), line(answerer(&sums{}), gone), double, call.Head{}, counted{2})
	require.Equal(t, call.Gone, call.ClassOf(err))
	l := line(answerer(&sums{}), "", gone, again)
	l.Insists, l.Waits = true, true
	got, err = call.Ask(t.Context(), l, double, call.Head{}, counted{2})
	require.NoError(t, err)
	require.Equal(t, 4, got)
}

// What programs of before answered is named as what it is.
func TestAnAnswerOfAnotherVersionIsToldAsSuch(t *testing.T) {
	t.Parallel()
	for _, old := range []string{
		`{"ok":false,"error":"unknown request \"\"","refused":true}`, `{"error":"the host cannot read what is asked","usage":true}`, `x`,
	} {
		_, err := call.Ask(t.Context(), line(answerer(&sums{}), old), double, call.Head{}, counted{})
		require.ErrorContains(t, err, "another version of Divisi than this program", old)
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"call":"double","run":"r","at":{"task":"t","attempt":1},"body":{"n":2}}`))
	f.Add([]byte(`{"call":"double","id":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &sums{}
		got, err := answerer(s).Answer(context.Background(), bus.Message{Subject: "host.read.ada", Data: data})
		require.NoError(t, err)
		require.NotEmpty(t, got)
		for _, n := range s.got {
			require.True(t, 0 <= n && n <= 5)
		}
	})
}
