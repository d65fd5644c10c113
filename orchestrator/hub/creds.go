package hub

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/bus/member"
	"divisi/internal/usage"
	"divisi/orchestrator/audit"
	"divisi/orchestrator/call"
	"divisi/orchestrator/dashboard"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/host"
	"divisi/orchestrator/station"
)

// CredsSubject is where the process of a server is asked for tokens, and to change who may use it: no member may publish there.
const CredsSubject = "creds.ask"

type (
	// TokenOptions describe the member that a token admits.
	TokenOptions = call.TokenOptions
	// Credential is a member of a server, or a token that can still be used.
	Credential = call.Credential
)

// keeper changes who may use the server of this process.
type keeper struct {
	o        *ServeOptions
	registry *member.Registry
	bus      *bus.Bus
	digest   string // of the server's certificate
	audit    *audit.Log
	ends     time.Time // of the certificate
	// certificate is shown by the page too; page is nil where there is none.
	certificate tls.Certificate
	page        atomic.Pointer[dashboard.Server]
}

// KeeperCalls is all that the process of a server is asked by its operator.
var KeeperCalls = call.TableOf(
	call.On(call.KeeperToken, changes(audit.TokenMade, (*keeper).token, func(q *TokenOptions) (name, detail string) {
		detail = fmt.Sprintf("%s, %d uses", q.Role, max(1, q.Uses))
		if q.Raw {
			detail += ", raw"
		}
		return q.Name, detail
	})),
	call.On(call.KeeperLink, changes(audit.TokenMade, (*keeper).link, func(q *TokenOptions) (name, detail string) {
		return q.Name, q.Role + ", a link to the page"
	})),
	call.On(call.KeeperRotate, changes(audit.Rotated, (*keeper).rotate, func(q *call.Rotation) (name, detail string) {
		return q.Name, ""
	})),
	call.On(call.KeeperRevoke, changes(audit.Revoked, (*keeper).revoke, func(q *string) (name, detail string) {
		return *q, ""
	})),
	call.On(call.KeeperMembers, (*keeper).list),
)

// listen answers the operator, until stop.
func (k *keeper) listen(ctx context.Context) (stop func(), err error) {
	d := call.Answerer[*keeper]{Table: KeeperCalls, As: k, Bus: k.bus, Log: *zerolog.Ctx(ctx), Pace: &call.Pace{}}
	return d.Listen(ctx, CredsSubject)
}

// changes keeps what the operator has changed.
func changes[Q, A any](
	what string, do func(*keeper, context.Context, *call.In, *Q) (A, error), of func(*Q) (name, detail string),
) func(*keeper, context.Context, *call.In, *Q) (A, error) {
	return func(k *keeper, ctx context.Context, in *call.In, q *Q) (A, error) {
		a, err := do(k, ctx, in, q)
		e := audit.Entry{By: audit.Operator, What: what, Refused: host.Refusal(err)}
		e.Name, e.Detail = of(q)
		k.audit.Add(e)
		return a, err
	}
}

func (k *keeper) token(_ context.Context, _ *call.In, q *TokenOptions) (string, error) {
	return k.issue(q.WebSocket, member.Admission{
		Role: member.Role(q.Role), Name: q.Name, Uses: q.Uses, Life: q.Life, Tags: q.Tags, Raw: q.Raw,
	})
}

func (k *keeper) rotate(_ context.Context, _ *call.In, q *call.Rotation) (string, error) {
	token, err := k.issue(q.WebSocket, member.Admission{Name: q.Name, Replaces: true})
	return token, unknown(err)
}

func (k *keeper) revoke(_ context.Context, _ *call.In, name *string) (none call.None, err error) {
	if strings.HasPrefix(*name, "token:") {
		return none, unknown(k.registry.Cancel(*name))
	}
	page := k.page.Load()
	ended := page != nil && page.End(*name)
	if err = k.bus.Disconnect(*name); ended && errors.Is(err, member.ErrUnknown) {
		err = nil // who opens the page alone is no member
	}
	return none, unknown(err)
}

// unknown makes the name of no member a mistake of the caller.
func unknown(err error) error {
	if errors.Is(err, member.ErrUnknown) {
		return usage.Errorf("%v", err)
	}
	return err
}

// revokeWorker admits a worker no more, and cuts its connections; it reports whether it was a member.
func (k *keeper) revokeWorker(name string) (bool, error) {
	for _, m := range k.registry.Members() {
		switch {
		case m.Name != name:
		case m.Role != member.Worker:
			return false, usage.Errorf("%s is no worker", m)
		default:
			return true, k.bus.Disconnect(name)
		}
	}
	return false, nil
}

func (k *keeper) issue(webSocket bool, what member.Admission) (string, error) {
	url := k.bus.MemberURL()
	if webSocket {
		url = k.bus.WebSocketURL()
	}
	if url == "" {
		return "", usage.Errorf("the server does not listen for WebSocket: stop it, and start it with an address for that")
	}
	t, err := k.registry.NewToken(what)
	if err != nil {
		return "", err
	}
	t.URL, t.Certificate = k.o.named(url), k.digest
	return t.String(), nil
}

func (k *keeper) list(context.Context, *call.In, *call.None) (m call.Members, err error) {
	open, err := k.bus.Connected()
	if err != nil {
		return m, err
	}
	m.Ends = k.ends
	for _, one := range k.registry.Members() {
		m.All = append(m.All, Credential{
			Name: one.Name, Role: string(one.Role), Tags: one.Tags, Raw: one.Raw, Joined: one.Joined, Key: one.Key,
			Connections: open[one.Key],
		})
	}
	for _, t := range k.registry.Tokens() {
		m.All = append(m.All, Credential{
			Name: t.ID, Role: string(t.Role), Tags: t.Tags, Raw: t.Raw, For: t.Name, Uses: t.Uses, Ends: t.Ends,
		})
	}
	return m, nil
}

// NewToken has the process that serves a state directory make a token.
func NewToken(ctx context.Context, stateDir string, what TokenOptions) (string, error) {
	return askKeeper(ctx, stateDir, call.KeeperToken, what)
}

// Rotate has the process that serves a state directory make a token that gives a member another key. The one before is good until
// the token is used; then its connections are cut. With webSocket it has that address of the server.
func Rotate(ctx context.Context, stateDir, name string, webSocket bool) (string, error) {
	if name == "" {
		return "", usage.Errorf("the name of the member is empty")
	}
	return askKeeper(ctx, stateDir, call.KeeperRotate, call.Rotation{Name: name, WebSocket: webSocket})
}

// Revoke has the process that serves a state directory admit a member no more, and cut its connections; or end a token.
func Revoke(ctx context.Context, stateDir, name string) error {
	if name == "" {
		return usage.Errorf("the name of the member is empty")
	}
	_, err := askKeeper(ctx, stateDir, call.KeeperRevoke, name)
	return err
}

// Credentials lists who may use the server of a state directory, and the tokens that can still be used. expiry is what a person
// should know of the end of the server's certificate; "" while that is far.
func Credentials(ctx context.Context, stateDir string) (all []Credential, expiry string, err error) {
	a, err := askKeeper(ctx, stateDir, call.KeeperMembers, call.None{})
	if err != nil {
		return nil, "", err
	}
	return a.All, member.Expiry(a.Ends, depot.Now()), nil
}

// askKeeper asks the process that serves a state directory.
func askKeeper[Q, A any](ctx context.Context, stateDir string, k call.Kind[Q, A], q Q) (a A, err error) {
	o, err := bus.OwnerOptions(hubBus(stateDir))
	if errors.Is(err, os.ErrNotExist) {
		return a, usage.Errorf("no server runs in %s: start one first. On a NATS cluster its operator's tools make and revoke "+
			"credentials", stateDir)
	}
	if err != nil {
		return a, err
	}
	o.Log = *zerolog.Ctx(ctx)
	b, err := bus.Open(ctx, o)
	if err != nil {
		return a, fmt.Errorf("reach the server of %s: %w", stateDir, err)
	}
	defer closeServer(ctx, b)
	line := call.To(b, CredsSubject)
	line.Timeout = station.TellTimeout
	line.Wrap = func(err error) error {
		if errors.As(err, new(*call.Error)) {
			return err
		}
		return fmt.Errorf("ask the server: %w", err)
	}
	return call.Ask(ctx, line, k, call.Head{}, q)
}
