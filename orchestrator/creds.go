package orchestrator

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"divisi/orchestrator/fault"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/bus/member"
	"divisi/internal/usage"
	"divisi/orchestrator/audit"
	"divisi/orchestrator/dashboard"
)

// credsSubject is where the process of a server is asked for tokens, and to change who may use it: no member may publish there.
const credsSubject = "creds.ask"

// TokenOptions are what a token is for: a worker, a person or a viewer, under a name that may be empty. It admits Uses members, 0
// for one, for Life, 0 for ten minutes; workers have the Tags, and a viewer with Raw reads what commands printed. With WebSocket
// it has that address of the server.
type TokenOptions struct {
	Role      string        `json:"role,omitempty"`
	Name      string        `json:"name,omitempty"`
	WebSocket bool          `json:"websocket,omitempty"`
	Uses      int           `json:"uses,omitempty"`
	Life      time.Duration `json:"life,omitempty"`
	Tags      []string      `json:"tags,omitempty"`
	Raw       bool          `json:"raw,omitempty"`
}

// Credential is a member of a server, or a token that can still be used, which has an end and a number of uses.
type Credential struct {
	Name   string    `json:"name"`
	Role   string    `json:"role"`
	Tags   []string  `json:"tags,omitempty"`
	Raw    bool      `json:"raw,omitempty"` // it reads what commands printed, as a viewer may who was granted it
	Joined time.Time `json:"joined,omitzero"`
	// Key is the public key of a member.
	Key string `json:"key,omitempty"`
	// Connections counts those that the member has open.
	Connections int `json:"connections"`
	// For is the only name that a token admits; Uses is how many members it still does, until Ends.
	For  string    `json:"for,omitempty"`
	Uses int       `json:"uses,omitempty"`
	Ends time.Time `json:"ends,omitzero"`
}

// credsCall is what the process of a server is asked; one field is set. Rotate and Revoke name a member, Revoke a token too.
type credsCall struct {
	Token     *TokenOptions `json:"token,omitempty"`
	Rotate    string        `json:"rotate,omitempty"`
	WebSocket bool          `json:"websocket,omitempty"` // of the address of Rotate's token
	Revoke    string        `json:"revoke,omitempty"`
	// Link is a visitor of the page, a person or a viewer.
	Link *TokenOptions `json:"link,omitempty"`
	List bool          `json:"list,omitempty"`
}

// credsAnswer is what became of it; Usage reports that Error is a mistake of the caller.
type credsAnswer struct {
	Token string       `json:"token,omitempty"`
	All   []Credential `json:"all,omitempty"`
	Ends  time.Time    `json:"ends,omitzero"` // of the certificate
	Error string       `json:"error,omitempty"`
	Usage bool         `json:"usage,omitempty"`
}

// keeper changes who may use the server of this process.
type keeper struct {
	o        *ServeOptions
	registry *member.Registry
	bus      *bus.Bus
	digest   string // of the server's certificate
	audit    *audit.Log
	ends     time.Time // of the certificate
	// certificate is what the page shows too; page is nil where there is none.
	certificate tls.Certificate
	page        atomic.Pointer[dashboard.Server]
}

func (k *keeper) answer(data []byte) ([]byte, error) {
	var q credsCall
	var a credsAnswer
	err := json.Unmarshal(data, &q)
	if err == nil {
		a, err = k.do(&q)
		k.keep(&q, err)
	}
	if err != nil {
		a = credsAnswer{Error: err.Error(), Usage: fault.IsUsage(err) || errors.Is(err, member.ErrUnknown)}
	}
	return json.Marshal(a)
}

// keep keeps what the operator has changed.
func (k *keeper) keep(q *credsCall, err error) {
	e := audit.Entry{By: audit.Operator, Refused: refusal(err)}
	switch {
	case q.Token != nil:
		e.What, e.Name = audit.TokenMade, q.Token.Name
		e.Detail = fmt.Sprintf("%s, %d uses", q.Token.Role, max(1, q.Token.Uses))
		if q.Token.Raw {
			e.Detail += ", raw"
		}
	case q.Link != nil:
		e.What, e.Name, e.Detail = audit.TokenMade, q.Link.Name, q.Link.Role+", a link to the page"
	case q.Rotate != "":
		e.What, e.Name = audit.Rotated, q.Rotate
	case q.Revoke != "":
		e.What, e.Name = audit.Revoked, q.Revoke
	default:
		return
	}
	k.audit.Add(e)
}

func (k *keeper) do(q *credsCall) (a credsAnswer, err error) {
	switch {
	case q.Token != nil:
		a.Token, err = k.issue(q.Token.WebSocket, member.Admission{
			Role: member.Role(q.Token.Role), Name: q.Token.Name, Uses: q.Token.Uses, Life: q.Token.Life, Tags: q.Token.Tags,
			Raw: q.Token.Raw,
		})
	case q.Link != nil:
		a.Token, err = k.link(q.Link)
	case q.Rotate != "":
		a.Token, err = k.issue(q.WebSocket, member.Admission{Name: q.Rotate, Replaces: true})
	case strings.HasPrefix(q.Revoke, "token:"):
		err = k.registry.Cancel(q.Revoke)
	case q.Revoke != "":
		page := k.page.Load()
		ended := page != nil && page.End(q.Revoke)
		if err = k.bus.Disconnect(q.Revoke); ended && errors.Is(err, member.ErrUnknown) {
			err = nil // who opens the page alone is no member
		}
	case q.List:
		a.Ends = k.ends
		a.All, err = k.list()
	default:
		err = usage.Errorf("the server is asked for nothing that it knows: use the version of the server")
	}
	return a, err
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

func (k *keeper) list() (all []Credential, err error) {
	open, err := k.bus.Connected()
	if err != nil {
		return nil, err
	}
	for _, m := range k.registry.Members() {
		all = append(all, Credential{
			Name: m.Name, Role: string(m.Role), Tags: m.Tags, Raw: m.Raw, Joined: m.Joined, Key: m.Key, Connections: open[m.Key],
		})
	}
	for _, t := range k.registry.Tokens() {
		all = append(all, Credential{
			Name: t.ID, Role: string(t.Role), Tags: t.Tags, Raw: t.Raw, For: t.Name, Uses: t.Uses, Ends: t.Ends,
		})
	}
	return all, nil
}

// NewToken has the process that serves a state directory make a token.
func NewToken(ctx context.Context, stateDir string, what TokenOptions) (string, error) {
	a, err := askKeeper(ctx, stateDir, credsCall{Token: &what})
	return a.Token, err
}

// Rotate has the process that serves a state directory make a token that gives a member another key. The one before is good until
// the token is used; then its connections are cut. With webSocket it has that address of the server.
func Rotate(ctx context.Context, stateDir, name string, webSocket bool) (string, error) {
	if name == "" {
		return "", usage.Errorf("the name of the member is empty")
	}
	a, err := askKeeper(ctx, stateDir, credsCall{Rotate: name, WebSocket: webSocket})
	return a.Token, err
}

// Revoke has the process that serves a state directory admit a member no more, and cut its connections; or end a token.
func Revoke(ctx context.Context, stateDir, name string) error {
	if name == "" {
		return usage.Errorf("the name of the member is empty")
	}
	_, err := askKeeper(ctx, stateDir, credsCall{Revoke: name})
	return err
}

// Credentials lists who may use the server of a state directory, and the tokens that can still be used. expiry is what a person
// should know of the end of the server's certificate; "" while that is far.
func Credentials(ctx context.Context, stateDir string) (all []Credential, expiry string, err error) {
	a, err := askKeeper(ctx, stateDir, credsCall{List: true})
	if err != nil {
		return nil, "", err
	}
	return a.All, member.Expiry(a.Ends, now()), nil
}

// askKeeper asks the process that serves a state directory.
func askKeeper(ctx context.Context, stateDir string, q credsCall) (a credsAnswer, err error) {
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
	data, err := json.Marshal(q)
	if err != nil {
		return a, fmt.Errorf("ask the server: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	if data, err = b.Request(ctx, credsSubject, data); err != nil {
		return a, fmt.Errorf("ask the server: %w", err)
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return a, fmt.Errorf("read the answer of the server: %w", err)
	}
	switch {
	case a.Error != "" && a.Usage:
		return a, usage.Errorf("%s", a.Error)
	case a.Error != "":
		return a, errors.New(a.Error)
	}
	return a, nil
}
