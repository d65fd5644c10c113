package dashboard

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/testkit/chantest"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
)

// message reads the next server-sent event of a name.
func message(t *testing.T, r *bufio.Reader, name string, into any) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		require.NoError(t, err)
		if line != "event: "+name+"\n" {
			continue
		}
		line, err = r.ReadString('\n')
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), into))
		return
	}
}

// The feed has how each run stands and what is open, and then what changes.
func TestFeed(t *testing.T) {
	t.Parallel()
	log := sampleLog(t, 255)
	s := start(t, log, func(s *Server) { s.surveyPause = 10 * time.Millisecond })
	body := get(t, base(s)+"api/v1/feed", nil).Body
	r := bufio.NewReader(body)
	var rows []view.Row
	for len(rows) == 0 || rows[0].State != "running" {
		message(t, r, "runs", &rows)
	}
	require.Equal(t, "r1", rows[0].ID)
	require.True(t, rows[0].Active)
	require.Equal(t, 14, rows[0].Tasks)

	held, err := json.Marshal(run.TaskData{State: run.TaskHeld, Doubt: &run.Doubt{Evidence: []string{"it deletes a test"}}})
	require.NoError(t, err)
	log.add(contextscope.Event{Run: "r1", Kind: contextscope.KindTask, Task: "log-web", Data: held})
	var needs []view.Decision
	for len(needs) == 0 || needs[len(needs)-1].Kind != "patch" {
		message(t, r, "decisions", &needs)
	}
	require.Equal(t, "log-web", needs[len(needs)-1].About)

	p, ok := s.opts.Runs.(*place)
	require.True(t, ok)
	p.mu.Lock()
	p.ended = &view.Row{State: "done", Tasks: 14}
	p.mu.Unlock()
	for rows[0].Active {
		message(t, r, "runs", &rows)
	}
	require.Equal(t, "done", rows[0].State)
	for len(needs) > 0 {
		message(t, r, "decisions", &needs)
	}
}

// A run that was removed is told once, and a browser that comes later does not hear of it.
func TestARunThatIsGone(t *testing.T) {
	t.Parallel()
	o := newOverview()
	o.set(map[string]view.Row{"a": {ID: "a"}, "b": {ID: "b"}}, []view.Decision{})
	rows, _, changed, at := o.since(0)
	require.Len(t, rows, 2)
	require.True(t, changed, "a browser is told that nothing is open")
	o.set(map[string]view.Row{"b": {ID: "b"}}, []view.Decision{})
	rows, _, changed, at = o.since(at)
	require.Equal(t, []view.Row{{ID: "a", Gone: true}}, rows)
	require.False(t, changed)
	rows, _, changed, _ = o.since(at)
	require.Empty(t, rows)
	require.False(t, changed)
	rows, _, changed, _ = o.since(0)
	require.True(t, changed)
	require.Equal(t, []view.Row{{ID: "b"}}, rows)
	_, there := o.has("a")
	require.False(t, there)
}

// The row of a run that no process has is made from its report, and tells the same as that of one that is followed.
func TestTheRowOfARunThatHasEnded(t *testing.T) {
	t.Parallel()
	st := folded(t,
		at(t, 1, contextscope.KindRun, "", 0, run.Data{State: run.Running, Spec: &run.Spec{Run: "r1", Goal: "g", Repo: "/r"}}),
		at(t, 30, contextscope.KindRun, "", 0, run.Data{State: run.Done, Reason: "all landed"}),
		at(t, 31, contextscope.KindRun, "", 0, run.Data{Notices: []string{"late"}}),
	)
	of := view.Of(st)
	row := view.RowIn("r1", "done", &of)
	require.Equal(t, []int64{1000, 30_000, 31_000}, []int64{row.Created, row.Ended, row.Last})
	require.Equal(t, view.RowOf(st), row)
}

// A browser whose session has ended gets nothing more, also on the streams that it has open.
func TestAnEndedSessionEndsItsStreams(t *testing.T) {
	t.Parallel()
	s := start(t, sampleLog(t, 20), nil)
	feed, events := get(t, base(s)+"api/v1/feed", nil), get(t, data(s)+"events", nil)
	require.True(t, s.End("ana"))
	for _, stream := range []*http.Response{feed, events} {
		_, err := io.Copy(io.Discard, stream.Body)
		require.NoError(t, err, "it ends in order")
	}
	require.Equal(t, http.StatusUnauthorized, get(t, base(s)+"api/v1/me", nil).StatusCode)
	require.False(t, s.End("ana"))
}

// unreadable is a place whose run cannot be opened.
type unreadable struct{ *place }

func (unreadable) Open(context.Context, string) (Run, error) {
	return nil, errors.New("the store is damaged")
}

func TestARunThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	s := start(t, newLog(), func(s *Server) { s.opts.Runs = unreadable{s.opts.Runs.(*place)} }) //nolint:forcetypeassert // options
	for _, path := range []string{"tasks/a", "decisions/a@1", "since?time=0", "batch?pos=1"} {
		res := get(t, data(s)+path, nil)
		require.Equal(t, http.StatusBadGateway, res.StatusCode, path)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.Contains(t, string(text), "the store is damaged", path)
	}
}

// A browser can have a run opened before the survey knows how it stands: the first mark opens it again too.
func TestARunIsOpenedAnewWithEachMark(t *testing.T) {
	t.Parallel()
	r := newRoom("r1", &place{}, &place{}, defaultMemory, zerolog.Nop())
	for _, mark := range []string{"ended", "active"} {
		r.stands(mark)
		require.Len(t, r.again, 1, mark)
		chantest.Next(t, r.again)
		r.stands(mark)
		require.Empty(t, r.again, mark)
	}
}
