package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"divisi/internal/lazyregexp"
)

// ErrDenied reports that the server does not permit the call to who is logged in. Nothing was done. It is ErrUnavailable too.
var ErrDenied error = deniedError{}

type deniedError struct{}

func (deniedError) Error() string { return "bus: the server does not permit it" }

// Is makes it one of ErrUnavailable.
func (deniedError) Is(target error) bool { return target == ErrUnavailable }

// denials are the calls that wait for an answer, each with the subjects that it asks on. The server answers what it forbids with
// silence, and says on the side which subject it was.
type denials struct {
	mu      sync.Mutex
	waiting map[*denialWait]struct{}
}

type denialWait struct {
	asks []string // subjects or filters
	end  context.CancelCauseFunc
}

// await returns a context that ends with an ErrDenied when the server forbids to publish to what asks match. The caller calls
// stop.
func (d *denials) await(ctx context.Context, asks []string) (waiting context.Context, stop func()) {
	waiting, end := context.WithCancelCause(ctx)
	w := &denialWait{asks, end}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting == nil {
		d.waiting = map[*denialWait]struct{}{}
	}
	d.waiting[w] = struct{}{}
	return waiting, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.waiting, w)
		end(nil)
	}
}

// deny ends the calls that asked on a subject, and reports whether there are some.
func (d *denials) deny(subject string, why error) (told bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for w := range d.waiting {
		if slices.ContainsFunc(w.asks, func(f string) bool { return covers(f, subject) }) {
			w.end(why)
			told = true
		}
	}
	return told
}

// deniedIn returns the ErrDenied that ended a context of await, or nil.
func deniedIn(ctx context.Context) error {
	if err := context.Cause(ctx); errors.Is(err, ErrDenied) {
		return err
	}
	return nil
}

// violation is how the server names what it forbids.
var violation = lazyregexp.New(`Permissions Violation for (Publish|Subscription) to "([^"]+)"`)

// forbidden reads an error of the client library: whether the server forbade something, and what.
func forbidden(err error) (publish bool, subject string, ok bool) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return false, "", false
	}
	m := violation.FindStringSubmatch(err.Error())
	if m == nil {
		return false, "", false
	}
	return m[1] == "Publish", m[2], true
}

// deniedJust returns an ErrDenied when the last thing that the server forbade is this one. It is called behind a flush: the
// server's answer to what it forbids comes before that to the flush.
func (b *Bus) deniedJust(publish bool, subject string) error {
	p, s, ok := forbidden(b.nc.LastError())
	if !ok || p != publish || s != subject {
		return nil
	}
	return b.denial(publish, subject)
}

func (b *Bus) denial(publish bool, subject string) error {
	who := "this login"
	switch {
	case b.login != nil:
		who = fmt.Sprintf("%s %s", b.login.Role, b.login.Name)
	case b.name != "":
		who = "this login, as " + b.name + ","
	}
	return fmt.Errorf("%w: %s may not %s (%s)", ErrDenied, who, meaning(publish, subject), subject)
}

// removed reports whether the server admits this member no more.
func (b *Bus) removed() bool {
	return b.login != nil && b.nc.IsClosed() && errors.Is(b.nc.LastError(), nats.ErrAuthorization)
}

func (b *Bus) unknown() error {
	return fmt.Errorf("%w: the server at %s does not know %s %s. Ask for a new token and join again", ErrDenied, b.url,
		b.login.Role, b.login.Name)
}

// meaning says in words what it is to publish or subscribe to a subject.
func meaning(publish bool, subject string) string {
	t := strings.Split(subject, ".")
	if !publish {
		if strings.HasPrefix(t[0], "_") {
			return "read the answers to another member"
		}
		return "listen there"
	}
	switch {
	case t[0] == prefixLog && len(t) > 2 && t[2] == "m":
		return "append as the conductor"
	case t[0] == prefixLog && len(t) > 3 && t[2] == "a":
		return "append as worker " + t[3]
	case t[0] == prefixLog:
		return "append to the log"
	case t[0] == prefixTask:
		return "queue a task"
	case t[0] == prefixObject || t[0] == prefixCache:
		return "put objects"
	case t[0] == prefixControl:
		return "send requests to runs"
	case t[0] == "host":
		return "ask that of the host"
	case t[0] == "$JS" && len(t) > 2 && t[1] == "ACK":
		return "answer for tasks"
	case t[0] == "$JS" && len(t) > 4 && t[1] == "API":
		return meaningOfCall(t[2:])
	}
	return "publish there"
}

// meaningOfCall does so for a call of JetStream.
func meaningOfCall(t []string) string {
	call, stream := t[0]+" "+t[1], t[2]
	if len(t) > 3 && (call == "STREAM MSG" || call == "CONSUMER MSG") {
		call, stream = call+" "+t[2], t[3]
	}
	switch call {
	case "STREAM CREATE", "STREAM UPDATE", "STREAM DELETE":
		return "set up stream " + stream
	case "STREAM PURGE", "STREAM MSG DELETE":
		return "remove messages of stream " + stream
	case "CONSUMER CREATE", "DIRECT GET", "STREAM MSG GET", "STREAM INFO":
		return "read stream " + stream
	case "CONSUMER MSG NEXT":
		return "take from stream " + stream
	}
	return "do that to stream " + stream
}
