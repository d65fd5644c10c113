package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"divisi/internal/model"
	"divisi/internal/spec"
)

// Options report what is recorded where.
type Options struct {
	// Dir is made where there is none. One that contains anything but a recording of this run is refused.
	Dir string
	Run string
	// Secrets are values that never come into a file, such as keys; those of fewer than 8 bytes are too short to be looked for.
	Secrets []string
	// OnError is told of every exchange that could not be kept; the call is not concerned.
	OnError func(error)
}

// minSecret is the shortest value that is taken for a secret. A shorter one would be found in innocent words.
const minSecret = 8

// long are the secrets that are looked for, the longest first: one may begin with another.
func long(secrets []string) []string {
	out := slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < minSecret })
	slices.SortFunc(out, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return out
}

// Recorder keeps exchanges. It is safe for concurrent use.
type Recorder struct {
	dir     directory
	session int
	secrets []string
	onError func(error)

	mu   sync.Mutex
	seen map[string]int // the newest occurrence, by stem
}

// Open begins a recording, or continues with one of the same run.
func Open(opt Options) (*Recorder, error) {
	r := &Recorder{dir: directory(opt.Dir), onError: opt.OnError, seen: map[string]int{}, secrets: long(opt.Secrets)}
	m, err := r.dir.marker()
	if errors.Is(err, fs.ErrNotExist) {
		return r, r.begin(opt.Run)
	}
	if err != nil {
		return nil, fmt.Errorf("the recording %s: %w", opt.Dir, err)
	}
	return r, r.resume(m, opt.Run)
}

func (r *Recorder) begin(run string) error {
	free, err := r.dir.empty()
	if err == nil && !free {
		return fmt.Errorf("%s is not empty, and it is no recording: name another directory", r.dir)
	}
	if err == nil {
		err = os.MkdirAll(string(r.dir), 0o700)
	}
	if err != nil {
		return fmt.Errorf("a recording cannot begin: %w", err)
	}
	return r.mark(marker{Format: format, Run: run})
}

// resume takes up a recording. One that has no exchanges yet may be another run's, which never came to any.
func (r *Recorder) resume(m marker, run string) error {
	names, err := r.dir.names()
	if err != nil {
		return fmt.Errorf("the recording %s: %w", r.dir, err)
	}
	if m.Run != run && len(names) > 0 {
		return fmt.Errorf("%s is the recording of run %s: name another directory", r.dir, m.Run)
	}
	for _, name := range names {
		stem := strings.TrimSuffix(name, ".json")
		dot := strings.LastIndexByte(stem, '.') + 1
		if n, err := strconv.Atoi(stem[dot:]); err == nil {
			r.seen[stem[:dot]] = max(n, r.seen[stem[:dot]])
		}
	}
	m.Run = run
	return r.mark(m)
}

func (r *Recorder) mark(m marker) error {
	m.Sessions = append(m.Sessions, time.Now().UTC().Truncate(time.Second))
	r.session = len(m.Sessions)
	return r.dir.write(markerFile, m, nil)
}

// Model returns a model that has its exchanges with next kept.
func (r *Recorder) Model(next model.Model) model.Model { return recorded{r, next} }

// begun makes the exchange of a request.
func (r *Recorder) begun(req *model.Request) (*exchange, error) {
	raw, err := canonical(req, r.secrets)
	if err != nil {
		return nil, err
	}
	x := &exchange{key: keyOf(req.Meta), Session: r.session, Began: time.Now().UTC(), Request: raw}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen[x.stem()]++
	x.Occurrence = r.seen[x.stem()]
	return x, nil
}

func (r *Recorder) keep(x *exchange) {
	x.unsplit(r.secrets)
	if err := r.dir.write(x.name(), x, r.secrets); err != nil {
		r.onError(err)
	}
}

// recorded is a model whose exchanges are kept.
type recorded struct {
	*Recorder

	next model.Model
}

// Generate implements model.Model. The exchange is in its file before the caller has the answer: who is killed after it has
// acted on an answer left that answer behind.
func (m recorded) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		x, err := m.begun(req)
		if err != nil {
			m.onError(fmt.Errorf("the call of %s was not recorded: %w", keyOf(req.Meta), err))
			m.next.Generate(ctx, req)(yield)
			return
		}
		for ev, err := range m.next.Generate(ctx, req) {
			if x.add(ctx, ev, err) {
				m.keep(x)
				yield(ev, err)
				return
			}
			if !yield(ev, err) {
				x.end()
				x.BrokenOff = true
				m.keep(x)
				return
			}
		}
		// A model that ends without a result breaks its contract, which its caller will say.
	}
}

func (x *exchange) end() { x.Ms = time.Since(x.Began).Milliseconds() }

// add takes a step of the answer in and reports whether it was the last.
func (x *exchange) add(ctx context.Context, ev model.Event, err error) bool {
	x.end()
	switch {
	case err != nil:
		x.Error = faultOf(ctx, model.AsError(err))
		return true
	case ev.Result != nil:
		x.Result = ev.Result
		return true
	}
	if ev.Delta != nil {
		x.Events = append(x.Events, event{x.Ms, ev.Restart, ev.Delta})
	}
	return false
}

func faultOf(ctx context.Context, e *model.Error) *fault {
	f := &fault{
		Class: e.Class, Message: e.Message, RetryAfter: spec.Duration(e.RetryAfter), Quota: e.Quota, Status: e.Status,
		Usage: e.Usage,
	}
	if cause := context.Cause(ctx); cause != nil {
		f.Cause = cause.Error()
	}
	return f
}
