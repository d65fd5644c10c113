package prefix_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/internal/geminitest"
	"divisi/internal/model"
	"divisi/internal/model/modeltest"
	"divisi/internal/spec"
	"divisi/subagents/prefix"
)

// sharedTokens is the size of the prefix that the siblings of these tests share.
const sharedTokens = 20_000

// sibling is one agent: its requests begin with the same system instruction, tools and background as those of the others.
type sibling struct {
	id     int
	keeper *prefix.Keeper
	model  model.Model
}

func shared() (system *genai.Content, tools []*genai.Tool, background *genai.Part) {
	system = genai.NewContentFromText("You are a generator.", "")
	tools = []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "read", Description: "reads"}}}}
	return system, tools, &genai.Part{Text: strings.Repeat("background ", sharedTokens*4/11)}
}

// run makes some calls as an agent does and returns what they cost.
func (s sibling) run(ctx context.Context, calls int) (spec.Usage, error) {
	system, tools, background := shared()
	use, err := s.keeper.Enter(ctx, prefix.Prefix{
		Model: model.DefaultModel, Digest: "shared", Tokens: sharedTokens, System: system, Tools: tools,
		Shared: []*genai.Part{background},
	})
	if err != nil {
		return spec.Usage{}, err
	}
	defer use.Leave()
	req := modeltest.Ask(fmt.Sprintf("t%d", s.id), "")
	req.Config = &genai.GenerateContentConfig{SystemInstruction: system, Tools: tools}
	req.Contents[0].Parts = []*genai.Part{background, {Text: fmt.Sprintf("Task: t%d", s.id)}}
	var sum spec.Usage
	for turn := range calls {
		req.Meta.Turn = turn + 1
		if name := use.Cache(sharedTokens); name != "" {
			req.Cached = &model.CachedPrefix{Name: name, Parts: 1}
		}
		res, err := s.ask(ctx, use, req)
		if err != nil {
			return sum, err
		}
		sum = sum.Add(res.Usage)
		req.Contents = append(req.Contents, res.Content, genai.NewContentFromText("go on", genai.RoleUser))
	}
	return sum, nil
}

func (s sibling) ask(ctx context.Context, use *prefix.Use, req *model.Request) (*model.Result, error) {
	for ev, err := range s.model.Generate(ctx, req) {
		if err != nil {
			use.Failed()
			return nil, err
		}
		use.Warm()
		if ev.Result != nil {
			return ev.Result, nil
		}
	}
	return nil, fmt.Errorf("no result")
}

// all runs n siblings at once and sums what they cost.
func all(t *testing.T, k *prefix.Keeper, m model.Model, n, calls int) spec.Usage {
	t.Helper()
	var mu sync.Mutex
	var sum spec.Usage
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			used, err := sibling{i, k, m}.run(t.Context(), calls)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("sibling %d: %v", i, err)
			}
			sum = sum.Add(used)
		})
	}
	wg.Wait()
	return sum
}

func share(u spec.Usage) float64 { return float64(u.Cached) / float64(u.Prompt) }

// script answers every turn of every task alike.
const script = `rules: [{task: "*", repeat: true, steps: [{text: done}]}]`

// TestStaggeringIsMeasured starts eight siblings at once whose first calls have one prefix of 20,000 tokens.
func TestStaggeringIsMeasured(t *testing.T) {
	t.Parallel()
	measure := func(t *testing.T, k *prefix.Keeper) (spec.Usage, time.Duration) {
		t.Helper()
		s, err := geminitest.Parse([]byte(script))
		require.NoError(t, err)
		m := modeltest.New(geminitest.Options{Script: s, Delay: 2 * time.Second, Implicit: true, MinCache: 4096})
		began := time.Now()
		used := all(t, k, m, 8, 1)
		require.Empty(t, m.Violations())
		return used, time.Since(began)
	}
	synctest.Test(t, func(t *testing.T) {
		without, at := measure(t, nil)
		k := prefix.NewKeeper(prefix.Options{})
		defer k.Close()
		with, later := measure(t, k)
		t.Logf("8 siblings, one prefix of 20k tokens, first byte after 2 s: cached share %.1f %% at once (%s), %.1f %% staggered (%s)",
			100*share(without), at, 100*share(with), later)
		require.Zero(t, without.Cached)
		require.InDelta(t, 7.0/8, share(with), 0.01)
		require.Equal(t, 2*time.Second, later-at, "the price is one wait for a first byte")
	})
}

// signalling tells when the first creation was answered.
type signalling struct {
	model.Cacher

	answered chan struct{}
}

func (s signalling) CreateCache(ctx context.Context, req model.CacheRequest) (model.Cache, error) {
	defer close(s.answered) // a second creation would panic: there must be one
	return s.Cacher.CreateCache(ctx, req)
}

// TestAnExplicitCacheOnTheWire runs siblings against the strict server, which is whole only when no rule of the API is broken.
func TestAnExplicitCacheOnTheWire(t *testing.T) {
	t.Parallel()
	s, err := geminitest.Parse([]byte(script))
	require.NoError(t, err)
	for _, fault := range []string{"", "503"} {
		t.Run("creation "+fault, func(t *testing.T) {
			t.Parallel()
			srv := geminitest.Start(t, geminitest.Options{Script: s, MinCache: 4096, CacheFault: fault})
			gemini, err := model.NewGemini(t.Context(), model.Options{BaseURL: srv.URL, APIKey: "fake"})
			require.NoError(t, err)
			t.Cleanup(gemini.Close)
			cacher := signalling{gemini, make(chan struct{})}
			k := prefix.NewKeeper(prefix.Options{
				Cacher: cacher, Clock: func() time.Time { return time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC) },
			})
			m := model.New(gemini, model.Policy{OnCacheRefused: func(name string, _ *model.Error) { k.Drop(name) }})
			all(t, k, m, 8, 1)
			<-cacher.answered
			used := all(t, k, m, 8, 4)
			t.Logf("8 siblings, 4 calls each, no implicit caching, creation %q: cached share %.1f %%", fault, 100*share(used))
			require.Equal(t, 32, used.Calls)
			if fault == "" {
				require.Greater(t, share(used), 0.5)
			} else {
				require.Zero(t, used.Cached)
			}
			k.Close()
			require.Empty(t, srv.Caches(), "nothing is left behind")
			made := 0
			for _, e := range srv.Requests() {
				if e.Method == "createCache" {
					made++
				}
			}
			require.Equal(t, 1, made)
		})
	}
}
