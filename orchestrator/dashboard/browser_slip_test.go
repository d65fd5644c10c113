//go:build browser

package dashboard

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/usage"
	"divisi/orchestrator/act"
	"divisi/orchestrator/run"
)

// answering is a place in which an answer closes its decision, unless another person was first.
type answering struct {
	deciding

	t   *testing.T
	log *memoryLog

	mu    sync.Mutex
	taken []act.Decide
	first string // the decision that another one answers first
}

func (p *answering) Act(_ context.Context, _, _ string, a act.Args) (Outcome, error) {
	held, _ := a.(act.Held)
	d, _ := held.Args.(act.Decide)
	p.mu.Lock()
	defer p.mu.Unlock()
	if d.Decision == p.first {
		return Outcome{}, usage.Errorf("%s has an answer: right by user:ben", d.Decision)
	}
	p.taken = append(p.taken, d)
	about, _, _ := strings.Cut(d.Decision, "@")
	p.log.put(p.t, "run", "", run.Data{Decision: &run.Decided{
		Kind: run.DecideQuestion, About: about, Answer: run.Answer{ID: d.Decision, Option: d.Option, Text: d.Text, By: "user:ana"},
	}})
	return Outcome{Outcome: "sent"}, nil
}

func (p *answering) all() []act.Decide {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.taken)
}

// TestBrowserNoSlip has people decide 300 times, with slips between: each answer is for what was shown, and none is a slip's. Most of
// the time is that in which the page takes no answer, so that several pages are decided on at once.
func TestBrowserNoSlip(t *testing.T) {
	t.Parallel()
	for part := range uint64(4) {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			slips(t, rand.New(rand.NewPCG(4, 8+part))) // the same slips each time
		})
	}
}

func slips(t *testing.T, dice *rand.Rand) {
	t.Helper()
	all := 75
	if testing.Short() {
		all = 5
	}
	tasks := make([]string, all)
	for i := range tasks {
		tasks[i] = fmt.Sprintf("t%03d", i)
	}
	log := asking(t, tasks, tasks...)
	var p *answering
	s := start(t, log, func(s *Server) {
		s.surveyPause = 20 * time.Millisecond
		p = &answering{deciding: deciding{s.opts.Controller.(*place)}, t: t, log: log}
		s.opts.Controller = p
	})
	ctx := browse(t, runPage(s))
	shown := `decodeURIComponent(document.querySelector(".need.open .of a[aria-label]").href.split("/").pop())`
	key := `document.body.dispatchEvent(new KeyboardEvent("keydown", {key: %q, bubbles: true, repeat: %t}));`
	both := fmt.Sprintf(key, "1", false) + fmt.Sprintf(key, "Enter", false)
	planted, wrong := 0, 0
	for i := range all {
		until(ctx, t, `document.querySelectorAll(".need.open .pick:enabled").length === 3`)
		id, before := js[string](ctx, t, shown), len(p.all())
		if i%5 == 0 {
			planted++
			slip := [...]string{
				both, both + both, fmt.Sprintf(key, "Enter", false) + fmt.Sprintf(key, "Enter", false),
				fmt.Sprintf(key, "1", false) + strings.Repeat(fmt.Sprintf(key, "Enter", true), 20), "stale",
			}[dice.IntN(5)]
			if slip == "stale" {
				p.mu.Lock()
				p.first = id
				p.mu.Unlock()
				answers(ctx, t, "1")
				until(ctx, t, `document.querySelector(".need-body [role=alert]")?.textContent.includes("right by user:ben")`)
				p.mu.Lock()
				p.first = ""
				p.mu.Unlock()
			} else {
				js[bool](ctx, t, slip+" true")
			}
			wrong += len(p.all()) - before
			until(ctx, t, fmt.Sprintf(`document.querySelectorAll(".need.open .pick:enabled").length === 3 && %s === %q`, shown, id))
		}
		number := 1 + dice.IntN(2)
		want := [...]string{"left", "right"}[number-1]
		answers(ctx, t, fmt.Sprint(number))
		require.Eventually(t, func() bool { return len(p.all()) > before }, time.Minute, 5*time.Millisecond)
		js[bool](ctx, t, both+" true") // typed ahead of the next one
		got := p.all()
		if len(got) != before+1 || got[before].Decision != id || got[before].Text != want {
			wrong++
		}
		until(ctx, t, fmt.Sprintf(`document.querySelector(".need.open") === null || %s !== %q`, shown, id))
	}
	require.Len(t, p.all(), all)
	require.Zero(t, wrong)
	t.Logf("%d answers, %d slips and %d keys typed ahead, %d wrong", all, planted, all, wrong)
}
