package hub

import (
	"context"
	"crypto/tls"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"divisi/bus"
	"divisi/bus/member"
	"divisi/internal/release"
	"divisi/internal/usage"
	"divisi/orchestrator/call"
	"divisi/orchestrator/client"
	"divisi/orchestrator/dashboard"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/door"
	"divisi/orchestrator/host"
	"divisi/subagents/wire"
)

// linkLife is how long a link to the page of a server admits a browser.
const linkLife = 10 * time.Minute

// open serves the page of the runs of a host, and returns its address. A person signs in with a link.
func (k *keeper) open(ctx context.Context, of *host.Host, at depot.Server, c *depot.Closers) (string, error) {
	begin := func(ctx context.Context, run, by string) error {
		_, err := client.AskOn(ctx, at, call.HostResume, run, call.Resumption{For: by})
		return err
	}
	runs := func(redacted bool) *door.PageRuns {
		return door.NewHosted(host.Hosted{Host: of, Redacted: redacted}, begin)
	}
	whole, redacted := runs(false), runs(true)
	s, err := dashboard.New(dashboard.Options{
		Addr: k.o.Page, TLS: &tls.Config{Certificates: []tls.Certificate{k.certificate}, MinVersion: tls.VersionTLS12},
		Hosts: k.o.Hosts, Runs: whole, Controller: whole, RedactedRuns: redacted, RedactedController: redacted,
		Version: release.Version(), Logger: *zerolog.Ctx(ctx), Misasked: of.Misasked,
	})
	if err != nil {
		return "", usage.Wrong("page: %s", strings.TrimPrefix(err.Error(), "dashboard: "))
	}
	if err := s.Start(context.WithoutCancel(ctx)); err != nil {
		return "", err
	}
	c.Later(s.Stop)
	k.page.Store(s)
	return s.Address(), nil
}

// link makes an address with which a person or a viewer opens the page once.
func (k *keeper) link(_ context.Context, _ *call.In, what *TokenOptions) (string, error) {
	page := k.page.Load()
	role := member.Role(what.Role)
	switch {
	case page == nil:
		return "", usage.Errorf("the server has no page: stop it, and start it with an address for one")
	case role != member.Person && role != member.Viewer:
		return "", usage.Errorf("the page is for a %s or a %s, not for a %.40q", member.Person, member.Viewer, what.Role)
	case !bus.ValidToken(what.Name) || wire.Person(what.Name) != wire.Person("")+":"+what.Name:
		return "", usage.Errorf("name the person who opens the page: letters, digits, - and _, at most 64")
	}
	person := role == member.Person
	return page.Link(dashboard.Visitor{Name: what.Name, Writes: person, Raw: person || what.Raw}, linkLife), nil
}

// NewLink has the process that serves a state directory make an address with which one browser opens its page within ten
// minutes.
func NewLink(ctx context.Context, stateDir string, what TokenOptions) (string, error) {
	return askKeeper(ctx, stateDir, call.KeeperLink, what)
}
