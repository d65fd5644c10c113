package model_test

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/internal/model"
	"divisi/internal/spec"
)

// randomRuns is how many TestNoRandomRunIsAboveItsBudget makes: 1,000 take three minutes.
var randomRuns = flag.Int("random-runs", 100, "how many random runs keep to their budgets")

// bill is a service that counts what it would charge: more than it says where a stream breaks off.
type bill struct {
	mu     sync.Mutex
	rnd    *rand.Rand
	dense  float64 // tokens of a byte
	prices model.Prices
	money  bool
	true   int64
	calls  int
}

// charge is one call: what the service charges for, and what it says.
func (b *bill) charge(name string, size, most int) (said spec.Usage, broken bool, fault *model.Error, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	took = time.Duration(b.rnd.IntN(3000)) * time.Millisecond
	switch b.rnd.IntN(12) {
	case 0:
		return said, false, &model.Error{Class: model.Overloaded, Message: "busy"}, took // before anything is done
	case 1:
		return said, false, &model.Error{Class: model.Unavailable, Message: "down"}, took
	case 2:
		broken = true
	}
	used := spec.Usage{Calls: 1, Prompt: 1 + int(float64(size)*b.dense), Output: b.rnd.IntN(most + 1)}
	used.Cached = b.rnd.IntN(used.Prompt + 1)
	used.Thoughts = b.rnd.IntN(used.Output + 1)
	used.Output -= used.Thoughts
	if b.rnd.IntN(3) == 0 {
		used.Written = b.rnd.IntN(used.Prompt - used.Cached + 1)
	}
	b.true += b.amount(name, used)
	if said = used; broken {
		said.Output, said.Thoughts = b.rnd.IntN(used.Output+1), 0
		fault = &model.Error{Class: model.Stalled, Message: "silent", Usage: said}
	}
	return said, broken, fault, took
}

func (b *bill) amount(name string, u spec.Usage) int64 {
	if !b.money {
		return int64(u.Total())
	}
	most := spec.Money(0)
	for _, p := range b.prices(name, time.Now()) {
		most = max(most, p.Cost(u, ""))
	}
	return int64(most)
}

// Generate implements model.Model.
func (b *bill) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		most := model.Lookup(req.Model).MaxOutput
		if c := req.Config; c != nil && c.MaxOutputTokens > 0 {
			most = min(most, int(c.MaxOutputTokens))
		}
		said, _, fault, took := b.charge(req.Model, len(req.Contents[0].Parts[0].Text), most)
		select {
		case <-time.After(took):
		case <-ctx.Done(): // it is killed, and paid all the same
			if fault == nil {
				fault = &model.Error{Class: model.Cancelled, Message: "killed", Err: ctx.Err(), Usage: said}
			}
		}
		if fault != nil {
			yield(model.Event{}, fault)
			return
		}
		yield(model.Event{Result: &model.Result{Content: genai.NewContentFromText("a", genai.RoleModel), Usage: said}}, nil)
	}
}

// Whatever 64 calls at once, kills, tries, broken streams and clients that lie about themselves do: the service never charges more
// than the budget, and a model without a price is never called under one in money.
func TestNoRandomRunIsAboveItsBudget(t *testing.T) {
	t.Parallel()
	runs, calls, refused := *randomRuns, 0, 0
	if testing.Short() {
		runs = 20
	}
	for seed := range uint64(runs) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 49))
			project := &spec.Project{Models: map[string]spec.Model{"own": {Name: "gemini-3.8-flash", PriceIn: 3, PriceOut: 9}}}
			b := &bill{
				rnd: rand.New(rand.NewPCG(seed, 50)), dense: 0.2 + 0.8*rnd.Float64(), money: seed%2 == 0, prices: model.PricesOf(project),
			}
			limit := spec.Tokens(5_000 + rnd.IntN(2_000_000))
			if b.money {
				limit = spec.Budget{Amount: int64(spec.Dollar)/100 + rnd.Int64N(5*int64(spec.Dollar)), Money: true}
			}
			budget, left := model.NewBudget(limit, 0, b.prices), 64
			models := []string{"gemini-3.8-flash", "gemini-3.1-pro-preview", "a-model-without-price"}
			var wg sync.WaitGroup
			var mu sync.Mutex
			for i := range 64 {
				text, name := strings.Repeat("x", 10+rnd.IntN(200_000)), models[rnd.IntN(3)]
				turns, kill := 1+rnd.IntN(4), time.Duration(rnd.IntN(20_000))*time.Millisecond
				lies, declared := rnd.IntN(4) == 0, 1+rnd.IntN(8000)
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), kill)
					defer cancel()
					for turn := range turns {
						text += fmt.Sprintf("turn %d of %d", turn, i)
						if lies { // a client of the gateway that states an answer and asks for none of its bound
							b.client(ctx, budget, name, text, declared)
							continue
						}
						m := model.New(b, model.Policy{Budget: budget})
						_, err := model.Ask(ctx, m, &model.Request{
							Model: name, Contents: []*genai.Content{genai.NewContentFromText(text, genai.RoleUser)},
							Meta: model.Meta{Task: fmt.Sprint(i)},
						})
						mu.Lock()
						if err != nil && err.Class == model.OverBudget {
							refused++
						}
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			calls += b.calls
			require.LessOrEqual(t, b.true, limit.Amount, "seed %d, %d of 64 clients: the service charged more", seed, left)
			require.LessOrEqual(t, int64(budget.Spent()), limit.Amount, "seed %d", seed)
			require.GreaterOrEqual(t, int64(budget.Spent()), b.true, "seed %d: less was booked than charged", seed)
		})
	}
	t.Logf("%d runs, %d calls, %d refused: none above", runs, calls, refused)
}

// client is one call of a program through a gateway: the service keeps to the bound that the request names, whatever the program
// says of its use.
func (b *bill) client(ctx context.Context, budget *model.Budget, name, text string, declared int) {
	r, err := budget.Reserve(ctx, model.Need{Of: fmt.Sprint("client ", len(text)), Model: name, Body: []byte(text), Output: declared, AnyTier: true},
		func(string) {})
	if err != nil {
		return
	}
	said, broken, fault, took := b.charge(name, len(text), declared)
	<-time.After(took)
	switch {
	case broken:
		said.Prompt, said.Output = max(said.Prompt, r.Prompt), max(said.Output, r.Output-said.Thoughts)
	case fault != nil:
		said = spec.Usage{}
	}
	budget.Settle(&r, said, "", broken)
}
