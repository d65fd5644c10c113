package gateway

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"divisi/internal/model"
	"divisi/internal/model/login"
	"divisi/internal/spec"
)

// Service is where calls go, in which form, with which key; Login reports that it is the token of a person's login, or after
// login.Mark names the file of one. Base is the address as the programs of the form are given it; empty for the service's own. No
// models are all.
type Service struct {
	Form, Base, Key string
	Login           bool
	Models          []string
}

// Gateway passes calls on to one service. It is safe for concurrent use.
type Gateway struct {
	service Service
	form    *form
	base    *url.URL
	client  *http.Client
	budget  *model.Budget
	limit   *model.RateLimit
	// account is what its quotas are those of.
	account string
	// login is the file that has the key; nil where the key is one.
	login *login.File
}

// New makes a gateway. budget and limit are those of all calls of the process.
func New(s Service, budget *model.Budget, limit *model.RateLimit) (*Gateway, error) {
	f := forms[s.Form]
	if f == nil {
		return nil, fmt.Errorf("unknown form %q of a model's service: it is one of %s", s.Form, strings.Join(Forms(), ", "))
	}
	base, err := url.Parse(strings.TrimSuffix(strings.TrimRight(cmp.Or(s.Base, f.base), "/"), f.above))
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, fmt.Errorf("the address %q of the service is no http address", s.Base)
	}
	account := s.Key
	file, kept := strings.CutPrefix(s.Key, login.Mark)
	if kept = kept && s.Login; kept { // its tokens change, and another machine's file is another person's
		host, _ := os.Hostname()
		account += "\n" + host
	}
	account = model.Account(s.Form, base.String(), account)
	limit.Serve(map[string]string{"": account})
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 15 * time.Second}).DialContext,
		ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 128, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: 15 * time.Second,
		DisableCompression:  true, // bytes are passed on as they come, and the use is read from them
	}
	g := &Gateway{service: s, form: f, base: base, budget: budget, limit: limit, account: account, client: &http.Client{
		Transport: transport,
		// The key is in a header that net/http would carry to any other host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if kept {
		g.login = login.Open(file)
	}
	return g, nil
}

// key is the key of a call; of a login in a file another one than the service has refused, empty for none.
func (g *Gateway) key(ctx context.Context, refused string) (string, *model.Error) {
	if g.login == nil {
		return g.service.Key, nil
	}
	return g.login.Token(ctx, refused)
}

// Await returns once a model of the service may be asked, else as RateLimit.Await does: a program waits before it begins, because
// its own calls would give up.
func (g *Gateway) Await(ctx context.Context, end time.Time) *model.Error {
	all := g.limit.Used(g.account)
	if len(g.service.Models) > 0 {
		all = nil
		for _, name := range g.service.Models {
			all = append(all, model.Candidate{Model: name})
		}
	}
	return g.limit.Await(ctx, all, end)
}

// Close closes idle connections.
func (g *Gateway) Close() { g.client.CloseIdleConnections() }

// Environ are the variables with which a program finds the gateway at an address, such as http://127.0.0.1:61080, and is let in.
func (g *Gateway) Environ(address, token string) []string {
	vars := spec.GatewayVarsOf(g.service.Form)
	env := []string{vars.Address + "=" + address + g.form.under}
	for _, name := range vars.Keys {
		env = append(env, name+"="+token)
	}
	return env
}

// Use is the use of one call; without calls where no model answered. Estimated reports that the answer broke off before the
// service had said its use: the tokens are those that were reserved.
type Use struct {
	Model string
	Usage spec.Usage
	// Tier is the service tier that the service names; empty for its standard, and where it names none.
	Tier      string
	Estimated bool
	// Booked is the money that a budget in money has booked for it.
	Booked spec.Money
	Bytes  int
	Took   time.Duration
	// told reports that the newest event of the answer has said the use.
	told bool
}

// Attempt is the owner of a token, and what its calls tell. Begin is called before a call is sent, with the tokens that it has
// reserved, and pay when it is over; a call that cannot be noted is not sent. Wait is called before a call waits, and Refused
// where the budget, a quota that is used up for long, or the role (class Invalid) allows none; all on the goroutine of the call.
type Attempt struct {
	Token   string
	Begin   func(reserved Use) (pay func(Use), err error)
	Wait    func(spec.Wait)
	Refused func(*model.Error)
}

// For serves the calls of one attempt.
func (g *Gateway) For(a Attempt) http.Handler { return &door{g, a} }

// allows reports whether the service may be asked for a model.
func (g *Gateway) allows(name string) bool {
	return name != "" && (len(g.service.Models) == 0 || slices.Contains(g.service.Models, name))
}

// reserve takes what a call needs from the budget, for which it may wait.
func (g *Gateway) reserve(ctx context.Context, a *Attempt, c *call, body []byte) (model.Reserved, *model.Error) {
	info := model.Lookup(c.model)
	need := model.Need{Of: a.Token, Model: c.model, Body: body, AnyTier: true, Windows: c.windows, Why: c.why}
	most := cmp.Or(c.most, info.MaxOutput)
	if c.most == 0 && !info.Known {
		most, need.Why = info.Window, "it does not bound its answer, and the model is not known: set the most tokens of an answer"
	}
	need.Output = most * max(1, c.answers)
	if c.free || g.budget == nil {
		return model.Reserved{Need: need, Prompt: model.EstimateBytes(len(body))}, nil
	}
	if need.Windows == 0 && links.Match(body) {
		need.Windows, need.Why = 1, cmp.Or(need.Why, "it has an image, a file, or what the service adds to it")
	}
	var waited string
	r, fault := g.budget.Reserve(ctx, need, func(why string) {
		waited = why
		a.Wait(spec.Wait{For: spec.WaitBudget, Model: c.model, Why: why})
	})
	if fault != nil && fault.Class == model.Cancelled { // no fault of the program's: nothing but the budget made it wait
		fault = &model.Error{Class: model.OverBudget, Message: strings.TrimPrefix(waited+"; the program gave up waiting", "; ")}
	}
	return r, fault
}
