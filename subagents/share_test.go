package subagents

import (
	"context"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/subagents/prefix"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

// longInstruction is worth a cache.
var longInstruction = strings.Repeat("Keep to the rules. ", 2_000)

// sharing is a model and its caches. An answer takes a second.
type sharing struct {
	mu      sync.Mutex
	cached  []*model.CachedPrefix
	deleted []string
}

func (s *sharing) CreateCache(context.Context, model.CacheRequest) (model.Cache, error) {
	return model.Cache{Name: "cachedContents/c1"}, nil
}

func (s *sharing) ExtendCache(context.Context, string, time.Duration) (model.Cache, error) {
	return model.Cache{}, nil
}

func (s *sharing) DeleteCache(_ context.Context, name string) error {
	s.deleted = append(s.deleted, name)
	return nil
}

func (s *sharing) Generate(_ context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		part := submits("ok").parts[0]
		if req.Meta.Turn == 1 {
			part = &genai.Part{Text: "hm"}
		}
		if !yield(model.Event{Delta: part}, nil) {
			return
		}
		time.Sleep(time.Second) //nolint:forbidigo // the bubble's time
		s.mu.Lock()
		s.cached = append(s.cached, req.Cached)
		s.mu.Unlock()
		yield(model.Event{Result: &model.Result{Content: &genai.Content{Role: genai.RoleModel, Parts: []*genai.Part{part}}}}, nil)
	}
}

// TestSiblingsNameTheCacheOfTheirPrefix also where all that they share is the instruction and the tools.
func TestSiblingsNameTheCacheOfTheirPrefix(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &sharing{}
		now := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC) // prices are dated
		keeper := prefix.NewKeeper(prefix.Options{Cacher: s, Clock: func() time.Time { return now }, Log: zerolog.Nop()})
		var siblings sync.WaitGroup
		for range 3 {
			a := testAgent(t, newMemory(), nil)
			a.Model, a.Call, a.Prefixes = s, Call{Model: model.DefaultModel}, keeper
			a.Input.Role.Instruction = longInstruction
			siblings.Go(func() {
				r, err := a.Run(t.Context())
				if err != nil || r.Status != spec.StatusDone {
					t.Errorf("%+v: %v", r, err)
				}
			})
		}
		siblings.Wait()
		keeper.Close()
		require.Len(t, s.cached, 6)
		for _, c := range s.cached[3:] {
			require.Equal(t, &model.CachedPrefix{Name: "cachedContents/c1"}, c)
		}
		require.Equal(t, []string{"cachedContents/c1"}, s.deleted)
	})
}
