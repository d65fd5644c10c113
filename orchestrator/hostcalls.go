package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/act"
	"divisi/orchestrator/store"
	"divisi/subagents/wire"
)

// serveSubject is where the host on a server is asked, readSubject where those ask that only read. Who asks is what the subject
// says.
func serveSubject(who string) string { return "host.act." + who }
func readSubject(who string) string  { return "host.read." + who }

// What can be asked of a host.
const (
	verbHave      = "have"
	verbStart     = "start"
	verbList      = "list"
	verbSummary   = "summary"
	verbLook      = "look"
	verbResume    = "resume"
	verbRequest   = "request"
	verbCommit    = "commit"
	verbBase      = "base"
	verbFetched   = "fetched"
	verbRemove    = "remove"
	verbDiff      = "diff"
	verbContext   = "context"
	verbDecisions = "decisions"
	verbLog       = "log"
	// verbQuarantine is about a worker, and no run.
	verbQuarantine = "quarantine"
)

// hostVerb is one call of a host: reads where it changes nothing; views where it answers nothing that commands printed.
type hostVerb struct{ reads, views bool }

// hostVerbs are all that a host can be asked. Which numbers a call takes hostCall says: see spec.Bounds.
var hostVerbs = map[string]hostVerb{
	verbList: {true, true}, verbSummary: {true, true}, verbLook: {true, true}, verbDiff: {true, true},
	verbDecisions: {true, true},
	verbCommit:    {reads: true}, verbHave: {reads: true}, verbContext: {reads: true}, verbLog: {views: true},
	verbStart: {}, verbResume: {}, verbRequest: {}, verbBase: {}, verbFetched: {}, verbRemove: {}, verbQuarantine: {},
}

// subjectOf is where a call goes.
func subjectOf(verb, who string) string {
	if verb == verbLog {
		return viewSubject(who)
	}
	if hostVerbs[verb].reads {
		return readSubject(who)
	}
	return serveSubject(who)
}

// hostCall is what is asked of a host.
type hostCall struct {
	Verb string `json:"verb"`
	Run  string `json:"run,omitempty"`
	// Stands has list tell how the runs stand too.
	Stands bool `json:"stands,omitempty"`
	// For is the visitor of the page for whom the server itself asks. Of a member it is ignored.
	For string `json:"for,omitempty"`
	// Order is the object that start begins the run with.
	Order string `json:"order,omitempty"`
	// Warrant is the signature of who resumes the run, or is going to submit it; nil for who has no login.
	Warrant *wire.Warrant `json:"warrant,omitempty"`
	// Budget, AllowUnverified and AllowUnread are those of ResumeOptions.
	Budget          *int `json:"budget,omitempty"`
	AllowUnverified bool `json:"allow_unverified,omitempty"`
	AllowUnread     bool `json:"allow_unread,omitempty"`
	// Commit is one that has landed: commit packs it for a repository with Have, fetched notes that a person has published it.
	// For base it is that of the run, or of its submodule at the place Module; Content is what Git LFS keeps of it. For have it
	// is what is to be sent, of a submodule too; Base, Name and Roots, and Warrant, are those of the order to come, and Contents
	// what Git LFS keeps.
	Commit string   `json:"commit,omitempty"`
	Have   string   `json:"have,omitempty"`
	Base   string   `json:"base,omitempty"`
	Name   string   `json:"name,omitempty"`
	Roots  []string `json:"roots,omitempty"`
	Module string   `json:"module,omitempty"`
	// Past is the cut of the history that base or have is about.
	Past     string         `json:"past,omitempty"`
	Content  *spec.Pointer  `json:"content,omitempty"`
	Contents []spec.Pointer `json:"contents,omitempty"`
	// Environment is for base that of the run, for have that of the run to come.
	Environment *environmentSent `json:"environment,omitempty"`
	// Unfetched has remove take a run whose branch no person has published.
	Unfetched bool `json:"unfetched,omitempty"`
	// Request is for a run that is not being conducted.
	Request *act.Request `json:"request,omitempty"`
	// Worker and Since are those of quarantine.
	Worker string    `json:"worker,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	// Task, Attempt, Stat and View are those of Diff and Context.
	Task    string       `json:"task,omitempty"`
	Attempt int          `json:"attempt,omitempty"`
	Stat    bool         `json:"stat,omitempty"`
	View    *ContextView `json:"view,omitempty"`
	// From is the position from which log shows the log.
	From uint64 `json:"from,omitempty"`

	viewed bool // by a viewer who is not shown what commands printed
}

// hostAnswer is what becomes of a call. Error is why nothing does, Usage that it is a mistake of the caller, Lacks that the order
// needs the pack whole, Again that the call is to be made again.
type hostAnswer struct {
	Error string `json:"error,omitempty"`
	Usage bool   `json:"usage,omitempty"`
	Lacks bool   `json:"lacks,omitempty"`
	Again bool   `json:"again,omitempty"`

	Run     string   `json:"run,omitempty"`
	Runs    []string `json:"runs,omitempty"`
	Summary *Summary `json:"summary,omitempty"`
	// Stands are the Runs by their ids, for a page that looks at all of them again and again.
	Stands  map[string]standing `json:"stands,omitempty"`
	Removed *Removed            `json:"removed,omitempty"`
	// Active reports that the host conducts the run; Fetched is the commit that a person has published last.
	Active  bool   `json:"active,omitempty"`
	Fetched string `json:"fetched,omitempty"`
	// Order is what the run was submitted with.
	Order string `json:"order,omitempty"`
	// Commits and Contents are those that the host has.
	Commits  []string       `json:"commits,omitempty"`
	Contents []spec.Pointer `json:"contents,omitempty"`
	// Environment reports that the host has it.
	Environment bool      `json:"environment,omitempty"`
	Object      string    `json:"object,omitempty"`
	Size        int64     `json:"size,omitempty"`
	Decisions   Decisions `json:"decisions,omitempty"`
	Isolated    *Isolated `json:"isolated,omitempty"`
	Data        []byte    `json:"data,omitempty"`
	Text        string    `json:"text,omitempty"`
	// Log is a page of the log of the run; there is no more where it is empty.
	Log []shownMessage `json:"log,omitempty"`
	// Large is the object that has the answer, where it does not fit into a message.
	Large string `json:"large,omitempty"`
}

// sealedAnswer is the kind of objects that have large answers.
const sealedAnswer = "answer"

// encode returns an answer as it is sent. To a viewer who reads no objects a large one is sent compressed.
func (a *hostAnswer) encode(ctx context.Context, b *bus.Bus, viewed bool) ([]byte, error) {
	data, err := spec.JSON(a)
	if err == nil && viewed {
		if data, err = wire.Press("", data); err == nil && len(data) > bus.MaxData {
			why := fmt.Sprintf("the answer is too large for a viewer: %d bytes", len(data))
			return spec.JSON(&hostAnswer{Error: why, Usage: true})
		}
	}
	if err != nil || len(data) <= bus.MaxData {
		return data, err
	}
	name := wire.Name(sealedAnswer, data)
	if err := b.Cache().Put(ctx, name, data); err != nil {
		return nil, err
	}
	return spec.JSON(&hostAnswer{Large: name})
}

// client reaches the host on a server from another process. Its bus is that of no run.
type client struct {
	bus *bus.Bus
	// viewed is set once the server has told that this member is a viewer who is not shown what commands printed.
	viewed atomic.Bool
}

// reach connects to the server of a host.
func (s Server) reach(ctx context.Context) (*client, error) {
	b, err := s.open(ctx, "")
	if err != nil {
		return nil, err
	}
	return &client{bus: b}, nil
}

// close closes the connection.
func (m *client) close(ctx context.Context) { store.Dir{Log: *zerolog.Ctx(ctx)}.Close(m.bus) }

// ask asks the host. Where none listens the error is bus.ErrNoListener too.
func (m *client) ask(ctx context.Context, q hostCall) (a hostAnswer, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	data, err := spec.JSON(q)
	if err == nil {
		a, err = m.place(ctx, q.Verb, data)
	}
	if err == nil && a.Large != "" {
		if data, err = wire.Open(ctx, m.bus.Cache(), sealedAnswer, a.Large); err == nil {
			err = wire.Decode(data, &a)
		}
	}
	switch {
	case errors.Is(err, bus.ErrNoListener):
		return a, usage.With(fmt.Errorf("no host conducts runs on %s: %w", m.bus.URL(), err), usage.Server)
	case err != nil:
		return a, fmt.Errorf("ask the host on %s: %w", m.bus.URL(), err)
	case a.Usage:
		return a, usage.Errorf("%s", a.Error)
	case a.Error != "":
		return a, fmt.Errorf("the host on %s: %s", m.bus.URL(), a.Error)
	}
	return a, nil
}

// place sends a call, and again while there is no place for it.
func (m *client) place(ctx context.Context, verb string, call []byte) (a hostAnswer, err error) {
	for pause := soonAgain; ; pause = min(2*pause, tryPause) {
		data, err := m.request(ctx, verb, call)
		if a = (hostAnswer{}); err == nil {
			err = wire.Decode(data, &a)
		}
		if err != nil || !a.Again {
			return a, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return a, context.Cause(ctx)
		}
	}
}

// request sends a call to where this member may ask.
func (m *client) request(ctx context.Context, verb string, data []byte) (answer []byte, err error) {
	may := hostVerbs[verb].views
	if !may || !m.viewed.Load() {
		answer, err = m.bus.Request(ctx, subjectOf(verb, m.bus.Me()), data)
	}
	switch {
	case may && (m.viewed.Load() || errors.Is(err, bus.ErrDenied)):
		denied := err
		if answer, err = m.bus.Request(ctx, viewSubject(m.bus.Me()), data); errors.Is(err, bus.ErrDenied) && denied != nil {
			return nil, denied
		}
		m.viewed.Store(true)
	case hostVerbs[verb].reads && errors.Is(err, bus.ErrDenied):
		err = fmt.Errorf("%w\nA viewer may ask it who was granted what commands printed", err)
	}
	if err != nil {
		return nil, err
	}
	return wire.Loosen(answer)
}

const (
	// tryTime bounds one try of a call that may be repeated, tryPause is between two.
	tryTime  = 30 * time.Second
	tryPause = time.Second
)

// insist asks until the host has answered: the call does the same when it is done twice.
func (m *client) insist(ctx context.Context, q hostCall) (hostAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for {
		try, end := context.WithTimeout(ctx, tryTime)
		a, err := m.ask(try, q)
		end()
		if a.Error != "" || err == nil || errors.Is(err, bus.ErrNoListener) || ctx.Err() != nil {
			return a, err
		}
		pause := time.NewTimer(tryPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return a, err
		}
	}
}
