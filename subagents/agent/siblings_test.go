package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/testkit/geminitest"
	"divisi/internal/testkit/journaltest"
	"divisi/internal/testkit/modeltest"
)

// longInstruction is large enough for a service to cache it.
var longInstruction = strings.Repeat("Keep to the rules. ", 2_000)

// sharedTokens is the size of the prefix that the siblings of these tests share.
const sharedTokens = 20_000

// entered is how one sibling's call of enter ended.
type entered struct {
	sibling *sibling
	err     error
	took    time.Duration
}

// enter lets n siblings in at once and returns where they arrive.
func enter(ctx context.Context, s *Siblings, digest string, n int) chan entered {
	in := make(chan entered, n)
	for range n {
		go func() {
			began := time.Now()
			u, err := s.enter(ctx, model.DefaultModel, digest, sharedTokens)
			in <- entered{u, err, time.Since(began)}
		}()
	}
	synctest.Wait()
	return in
}

func TestSiblingsWaitForTheFirstByte(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSiblings()
		in := enter(t.Context(), s, "a", 8)
		require.Len(t, in, 1, "one goes ahead")
		<-time.After(3 * time.Second)
		synctest.Wait()
		require.Len(t, in, 1)
		first := <-in
		first.sibling.warm()
		synctest.Wait()
		require.Len(t, in, 7, "the prefix is warm: all go")
		require.Equal(t, 3*time.Second, (<-in).took)

		late := enter(t.Context(), s, "a", 1)
		require.Len(t, late, 1)
		(<-late).sibling.stepAside()
		require.Len(t, enter(t.Context(), s, "b", 2), 1, "another prefix is not warm")
	})
}

func TestTheNextSiblingLeads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := enter(t.Context(), NewSiblings(), "a", 3)
		for range 2 {
			leader := (<-in).sibling
			leader.stepAside()
			leader.stepAside()
			synctest.Wait()
			require.Len(t, in, 1, "one of those that waited")
		}
	})
}

func TestACancelledLeaderLetsTheNextLead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSiblings()
		stop := errors.New("stop")
		first := <-enter(t.Context(), s, "a", 1)
		require.NoError(t, first.err)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancelled := enter(ctx, s, "a", 1)
		others := enter(t.Context(), s, "a", 2)
		cancel(stop)
		require.ErrorIs(t, (<-cancelled).err, stop)
		require.Empty(t, others, "one that waited does not affect the others")
		first.sibling.stepAside()
		synctest.Wait()
		require.Len(t, others, 1)
	})
}

func TestNoSiblingWaitsForever(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSiblings()
		in := enter(t.Context(), s, "a", 3)
		<-time.After(staggerLimit - time.Second)
		synctest.Wait()
		require.Len(t, in, 1)
		<-time.After(time.Second)
		synctest.Wait()
		require.Len(t, in, 3)
		<-in
		second := <-in
		require.Empty(t, enter(t.Context(), s, "a", 1))
		second.sibling.warm()
		require.Len(t, enter(t.Context(), s, "a", 1), 1, "the first answer warms it for all")
	})
}

func TestAWarmPrefixGoesCold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSiblings()
		u := (<-enter(t.Context(), s, "a", 1)).sibling
		u.warm()
		<-time.After(warmFor - time.Second)
		u.warm() // a later call of the same agent keeps it warm
		u.stepAside()
		<-time.After(warmFor - time.Second)
		require.Len(t, enter(t.Context(), s, "a", 3), 3)
		<-time.After(time.Second)
		require.Len(t, enter(t.Context(), s, "a", 3), 1, "it has gone cold")
	})
}

func TestSmallAndUnknownPrefixesAreNotHeldBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSiblings()
		for name, p := range map[string]struct {
			model, digest string
			tokens        int
		}{
			"below the minimum":        {"gemini-3.8-flash", "a", 4095},
			"below another's minimum":  {"gemini-4-argon", "a", 5000},
			"a model without caching":  {"qwen", "a", 1 << 20},
			"a request without prefix": {"gemini-3.8-flash", "", 20_000},
		} {
			for range 4 {
				u, err := s.enter(t.Context(), p.model, p.digest, p.tokens)
				require.NoError(t, err, name)
				u.warm()
				u.stepAside()
			}
		}
		require.Empty(t, s.groups)
		require.Len(t, enter(t.Context(), nil, "a", 3), 3, "an agent outside a worker")
		var none *sibling
		none.warm()
		none.stepAside()
	})
}

// callOnce makes one call as an agent does and returns its cost.
func callOnce(ctx context.Context, s *Siblings, m model.Model, id int) (spec.Usage, error) {
	u, err := s.enter(ctx, model.DefaultModel, "shared", sharedTokens)
	if err != nil {
		return spec.Usage{}, err
	}
	defer u.stepAside()
	req := modeltest.Ask(fmt.Sprintf("t%d", id), "")
	req.Config = &genai.GenerateContentConfig{SystemInstruction: genai.NewContentFromText("You are a generator.", "")}
	background := &genai.Part{Text: strings.Repeat("background ", sharedTokens*4/11)}
	req.Contents[0].Parts = []*genai.Part{background, {Text: fmt.Sprintf("Task: t%d", id)}}
	for ev, err := range m.Generate(ctx, req) {
		if err != nil {
			return spec.Usage{}, err
		}
		u.warm()
		if ev.Result != nil {
			return ev.Result.Usage, nil
		}
	}
	return spec.Usage{}, errors.New("no result")
}

// callAll runs eight siblings at once and sums their costs.
func callAll(t *testing.T, s *Siblings) (sum spec.Usage, took time.Duration) {
	t.Helper()
	script, err := geminitest.Parse([]byte(`rules: [{task: "*", repeat: true, steps: [{text: done}]}]`))
	require.NoError(t, err)
	m := modeltest.New(geminitest.Options{Script: script, Delay: 2 * time.Second, Implicit: true, MinCache: 4096})
	began := time.Now()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			used, err := callOnce(t.Context(), s, m, i)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("sibling %d: %v", i, err)
			}
			sum = sum.Add(used)
		})
	}
	wg.Wait()
	require.Empty(t, m.Violations())
	return sum, time.Since(began)
}

// TestStaggeringIsMeasured starts eight siblings at once whose first calls have one prefix of 20,000 tokens.
func TestStaggeringIsMeasured(t *testing.T) {
	t.Parallel()
	share := func(u spec.Usage) float64 { return float64(u.Cached) / float64(u.Prompt) }
	synctest.Test(t, func(t *testing.T) {
		without, at := callAll(t, nil)
		with, later := callAll(t, NewSiblings())
		t.Logf("8 siblings, one prefix of 20k tokens, first byte after 2 s: cached share %.1f %% at once (%s), %.1f %% staggered (%s)",
			100*share(without), at, 100*share(with), later)
		require.Zero(t, without.Cached)
		require.InDelta(t, 7.0/8, share(with), 0.01)
		require.Equal(t, 2*time.Second, later-at, "the price is one wait for a first byte")
	})
}

// slowStart is a model whose first byte takes a second; it notes when its calls began.
type slowStart struct {
	mu    sync.Mutex
	began []time.Time
}

func (s *slowStart) Generate(_ context.Context, _ *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		s.mu.Lock()
		s.began = append(s.began, time.Now())
		s.mu.Unlock()
		<-time.After(time.Second)
		yield(model.Event{Result: &model.Result{Content: &genai.Content{Role: genai.RoleModel, Parts: modeltest.Submits("ok").Parts}}}, nil)
	}
}

// TestAgentsLetTheFirstLead also where all that they share is the instruction and the tools.
func TestAgentsLetTheFirstLead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, all, start := &slowStart{}, NewSiblings(), time.Now()
		var agents sync.WaitGroup
		for range 3 {
			a := testAgent(t, journaltest.New(), nil)
			a.Model, a.Call, a.Siblings = m, Call{Model: model.DefaultModel}, all
			a.Input.Role.Instruction = longInstruction
			agents.Go(func() {
				r, err := a.Run(t.Context())
				if err != nil || r.Status != spec.StatusDone {
					t.Errorf("%+v: %v", r, err)
				}
			})
		}
		agents.Wait()
		require.Equal(t, []time.Time{start, start.Add(time.Second), start.Add(time.Second)}, m.began)
	})
}
