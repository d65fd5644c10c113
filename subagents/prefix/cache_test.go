package prefix

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/internal/model"
)

// service holds caches as the model's service does.
type service struct {
	mu      sync.Mutex
	asked   []model.CacheRequest
	live    map[string]time.Time
	deleted []string
	slow    time.Duration
	refuse  model.Class
}

// now is a day on which prices are known: a bubble's clock begins in the year 2000.
func now() time.Time { return time.Now().AddDate(27, 0, 0) }

func newService() *service { return &service{live: map[string]time.Time{}} }

func (s *service) fault() error {
	if s.refuse != "" {
		return &model.Error{Class: s.refuse, Message: "refused"}
	}
	return nil
}

func (s *service) CreateCache(ctx context.Context, req model.CacheRequest) (model.Cache, error) {
	s.mu.Lock()
	s.asked = append(s.asked, req)
	s.mu.Unlock()
	select {
	case <-time.After(s.slow):
	case <-ctx.Done():
		return model.Cache{}, model.AsError(ctx.Err())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fault(); err != nil {
		return model.Cache{}, err
	}
	name := "cachedContents/" + string(rune('a'+len(s.asked)-1))
	s.live[name] = now().Add(req.TTL)
	return model.Cache{Name: name, Expires: s.live[name]}, nil
}

func (s *service) ExtendCache(_ context.Context, name string, ttl time.Duration) (model.Cache, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fault(); err != nil {
		return model.Cache{}, err
	}
	s.live[name] = now().Add(ttl)
	return model.Cache{Name: name, Expires: s.live[name]}, nil
}

func (s *service) DeleteCache(ctx context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	delete(s.live, name)
	s.deleted = append(s.deleted, name)
	return nil
}

// refusing changes what the service answers from now on.
func (s *service) refusing(class model.Class) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = class
}

func (s *service) creations() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// siblings let n agents in, of which the first is answered.
func siblings(t *testing.T, k *Keeper, p Prefix, n int) []*Use {
	t.Helper()
	in := enter(t.Context(), k, p, n)
	var uses []*Use
	for range n {
		e := <-in
		require.NoError(t, e.err)
		e.use.Warm()
		uses = append(uses, e.use)
		synctest.Wait()
	}
	return uses
}

func TestManySiblingsShareOneCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService()
		s.slow = time.Second
		k := newKeeper(t, Options{Cacher: s, Clock: now})
		p := large("digest-of-a-prefix")
		p.System = genai.NewContentFromText("role", "")
		p.Tools = []*genai.Tool{{}}
		p.Shared = []*genai.Part{{Text: "background"}}
		two := siblings(t, k, p, 2)
		<-time.After(time.Minute)
		require.Zero(t, s.creations(), "two do not pay")
		uses := append(two, siblings(t, k, p, 6)...)
		require.Empty(t, uses[0].Cache(21_000), "not made yet: nobody waits for it")
		<-time.After(time.Second)
		synctest.Wait()
		require.Len(t, s.asked, 1, "once for all")
		got := s.asked[0]
		require.Equal(t, model.CacheRequest{
			Model: p.Model, System: p.System, Tools: p.Tools, TTL: cacheTTL, Label: "divisi digest-of-a-",
			Contents: []*genai.Content{{Role: genai.RoleUser, Parts: p.Shared}},
		}, got)
		for _, u := range uses {
			require.Equal(t, "cachedContents/a", u.Cache(21_000))
		}
		require.Empty(t, uses[0].Cache(50_000), "this one's own history is longer than the prefix")
		k.Close()
		require.Equal(t, []string{"cachedContents/a"}, s.deleted)
		late, err := k.Enter(t.Context(), p)
		require.NoError(t, err)
		require.Empty(t, late.Cache(21_000))
		synctest.Wait()
		require.Equal(t, 1, s.creations(), "a closed keeper makes none")
	})
}

func TestThoseWhoLeftDoNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService()
		k := newKeeper(t, Options{Cacher: s, Clock: now})
		for range 4 {
			for _, u := range siblings(t, k, large("a"), 2) {
				u.Leave()
				u.Leave()
			}
		}
		require.Zero(t, s.creations(), "never three at one time")
		siblings(t, k, large("a"), 3)
		require.Equal(t, 1, s.creations())
	})
}

func TestACacheLivesAsLongAsItIsUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService()
		k := newKeeper(t, Options{Cacher: s, Clock: now})
		uses := siblings(t, k, large("a"), 4)
		for range 20 {
			<-time.After(3 * time.Minute)
			require.NotEmpty(t, uses[0].Cache(20_000), "an hour is longer than its first life")
		}
		<-time.After(2*keepEvery + time.Second)
		synctest.Wait()
		require.Empty(t, s.live, "nobody names it any more")
		require.Empty(t, uses[0].Cache(20_000))
		for _, u := range uses {
			u.Leave()
		}
		siblings(t, k, large("a"), 4)
		require.Equal(t, 2, s.creations(), "the next wave gets its own")
	})
}

func TestAFailedCreationIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	for _, class := range []model.Class{model.CacheRefused, model.Overloaded, model.RateLimited, model.Auth} {
		synctest.Test(t, func(t *testing.T) {
			s := newService()
			s.refuse = class
			k := newKeeper(t, Options{Cacher: s, Clock: now})
			uses := siblings(t, k, large("a"), 8)
			s.refusing("")
			uses = slices.Concat(uses, siblings(t, k, large("a"), 8))
			require.Equal(t, 1, s.creations())
			require.Empty(t, uses[0].Cache(20_000))
			siblings(t, k, large("b"), 3)
			require.Equal(t, 2, s.creations(), "another prefix has its own chance")
		})
	}
}

func TestARefusedCacheIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService()
		k := newKeeper(t, Options{Cacher: s, Clock: now})
		uses := siblings(t, k, large("a"), 3)
		name := uses[0].Cache(20_000)
		k.Drop("another")
		require.Equal(t, name, uses[0].Cache(20_000))
		k.Drop(name)
		k.Drop(name)
		require.Empty(t, uses[0].Cache(20_000))
		siblings(t, k, large("a"), 3)
		require.Equal(t, 1, s.creations())
		k.Close()
		require.Empty(t, s.deleted, "there is nothing to delete")
	})
}

func TestAnExtensionThatFails(t *testing.T) {
	t.Parallel()
	for class, last := range map[model.Class]time.Duration{
		model.CacheRefused: keepEvery,               // the service has told that it is gone
		model.Unavailable:  cacheTTL - expiryMargin, // it may be there until it expires
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newService()
			k := newKeeper(t, Options{Cacher: s, Clock: now})
			u := siblings(t, k, large("a"), 3)[0]
			s.refusing(class)
			began := time.Now()
			for u.Cache(20_000) != "" {
				<-time.After(time.Second)
				synctest.Wait()
			}
			require.InDelta(t, last, time.Since(began), float64(2*time.Second), class)
		})
	}
}

func TestClosingWhileACacheIsMade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService()
		s.slow = time.Hour
		k := newKeeper(t, Options{Cacher: s, Clock: now})
		siblings(t, k, large("a"), 3)
		began := time.Now()
		k.Close()
		require.Zero(t, time.Since(began))
		var none *Keeper
		none.Close()
		none.Drop("x")
	})
}
