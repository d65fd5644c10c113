package command

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"divisi/contextscope"
	"divisi/internal/model"
	"divisi/internal/model/gateway"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/wire"
)

// Calls are what all calls of models share in the process: the budget, nil for none, and the rate limit.
type Calls struct {
	Budget *model.Budget
	Limit  *model.RateLimit
}

// service is the gateway of one attempt: its program calls models through it, and never sees the key. Without a gateway in the
// role it is empty.
type service struct {
	c       *Executor
	gateway *gateway.Gateway
	ctx     context.Context //nolint:containedctx // of the attempt: calls come on goroutines of their own

	// calls is held by each call under way: a program that ends does not wait for the end of its calls.
	calls sync.RWMutex

	mu sync.Mutex
	// unpaid is why a use could not be noted, refused why the budget or a quota allowed a call no more.
	unpaid  error
	refused *model.Error
}

// openService makes the gateway of a role that names one, and takes its key out of what the program is given.
func (c *Executor) openService(ctx context.Context) (*service, error) {
	s := &service{c: c, ctx: ctx}
	role := &c.Assignment.Role
	if role.Gateway == "" {
		return s, nil
	}
	given := gateway.Service{Form: role.Gateway}
	for _, name := range role.Models {
		given.Models = append(given.Models, c.Assignment.Project.ModelName(name))
	}
	vars := spec.GatewayVarsOf(role.Gateway)
	c.given = nil
	for _, v := range c.Secrets {
		switch name, value, _ := strings.Cut(v, "="); {
		case slices.Contains(vars.Keys, name), name == vars.Login:
			given.Key, given.Login = value, name == vars.Login
		case name == vars.Address:
			given.Base = value
		default:
			c.given = append(c.given, v)
		}
	}
	g, err := gateway.New(given, c.Calls.Budget, c.Calls.Limit)
	if err != nil {
		return nil, fmt.Errorf("open the gateway of %s: %w", c.Assignment.Agent(), err)
	}
	s.gateway = g
	return s, nil
}

// own is the gateway as one run of the program finds it, with a token that no other has.
func (s *service) own() sandbox.Own {
	if s == nil || s.gateway == nil { // a process for several tasks has none
		return sandbox.Own{}
	}
	token := rand.Text()
	calls := s.gateway.For(gateway.Attempt{Token: token, Begin: s.begin, Wait: s.wait, Refused: s.refuse})
	return sandbox.Own{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.calls.RLock()
			defer s.calls.RUnlock()
			calls.ServeHTTP(w, r.WithContext(model.WithObserver(r.Context(), s.wait)))
		}),
		Environ: func(address string) []string { return s.gateway.Environ(address, token) },
	}
}

// begin notes a call before it is sent, so that it is counted whatever ends this process. What cannot be noted ends the attempt,
// once its program has ended.
func (s *service) begin(reserved gateway.Use) (pay func(gateway.Use), err error) {
	call := rand.Text()
	begun := s.spentOf(&reserved)
	begun.Call, begun.Reserved, begun.Usage = call, &reserved.Usage, spec.Usage{}
	return func(u gateway.Use) {
		spent := s.spentOf(&u)
		spent.Call = call
		_ = s.note(spent) // the attempt ends with it
	}, s.note(begun)
}

func (s *service) spentOf(u *gateway.Use) wire.Spent {
	spent := wire.Spent{
		Usage: u.Usage, Model: u.Model, Took: u.Took, Bytes: u.Bytes, Estimated: u.Estimated, Booked: u.Booked,
		Tier: cmp.Or(u.Tier, s.c.Assignment.Role.Tier),
	}
	if model.Lookup(u.Model).Serves(spent.Tier) { // what is not known to be served so has no known price
		spent.Price = model.RowOf(&s.c.Assignment.Project, time.Now(), u.Model)
	}
	return spent
}

func (s *service) note(spent wire.Spent) error {
	if s.c.Pay == nil {
		return nil
	}
	err := s.c.Pay(s.ctx, []wire.Spent{spent})
	if err != nil {
		err = fmt.Errorf("note the use of %s: %w", s.c.Assignment.Agent(), err)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unpaid = cmp.Or(s.unpaid, err)
	}
	return err
}

// Cut are the ends of the calls that an attempt's earlier deliveries began, and whose process did not live to note them: they
// are counted with all that they reserved.
func Cut(events []contextscope.Event) ([]wire.Spent, error) {
	var open []wire.Spent
	for i := range events {
		if events[i].Kind != contextscope.KindUsage {
			continue
		}
		var s wire.Spent
		if err := json.Unmarshal(events[i].Data, &s); err != nil {
			return nil, fmt.Errorf("decode usage event %s: %w", events[i].ID, err)
		}
		open = slices.DeleteFunc(open, func(begun wire.Spent) bool { return begun.Call == s.Call })
		if s.Reserved != nil {
			open = append(open, s)
		}
	}
	for i := range open {
		s := &open[i]
		s.Usage, s.Reserved, s.Estimated = *s.Reserved, nil, true
	}
	return open, nil
}

// fault is why a use could not be noted; nil where all was.
func (s *service) fault() error {
	s.calls.Lock()
	defer s.calls.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unpaid
}

func (s *service) refuse(why *model.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	told := *why
	told.Message = s.c.Secrets.hide(why.Message)
	s.refused = &told
}

// outside is why the budget, or a quota, let the program do no more: no fault of its own. It is nil where neither did.
func (s *service) outside() *model.Error {
	s.calls.Lock()
	defer s.calls.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused == nil || s.refused.Class == model.Invalid {
		return nil
	}
	return s.refused
}

// denied is the newest call that the gateway does not pass on, as the end of a fault's message.
func (s *service) denied() string {
	s.calls.Lock()
	defer s.calls.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused == nil {
		return ""
	}
	return "; " + text.Clip(s.refused.Message, maxFault)
}

// faultOf is the class of an attempt's fault for that of a call.
func faultOf(class model.Class) string {
	if class == model.OverBudget {
		return wire.FaultBudget
	}
	return wire.FaultModel + string(class)
}

// wait notes what a call waits for, or a quota that is used up.
func (s *service) wait(w spec.Wait) { model.Tell(s.ctx, w) }

// ready waits, before the program begins, for a quota that is known to be used up. The result is why it cannot begin.
func (s *service) ready(ctx context.Context) *model.Error {
	end := time.Now().Add(s.c.Assignment.Project.Quota())
	switch usage := s.c.Assignment.Role.Usage; {
	case s.gateway != nil:
		return s.gateway.Await(ctx, end)
	case usage != "" && s.c.Calls.Limit != nil:
		return s.c.Calls.Limit.Await(ctx, []model.Candidate{{Model: usage}}, end)
	}
	return nil
}

func (s *service) close() {
	if s.gateway != nil {
		s.gateway.Close()
	}
}
