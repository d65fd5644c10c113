package prefix

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func large(digest string) Prefix {
	return Prefix{Model: "gemini-3.8-flash", Digest: digest, Tokens: 20_000}
}

// entered is one sibling's way in.
type entered struct {
	use  *Use
	err  error
	took time.Duration
}

// enter lets n siblings in at once and returns where they arrive.
func enter(ctx context.Context, k *Keeper, p Prefix, n int) chan entered {
	in := make(chan entered, n)
	for range n {
		go func() {
			began := time.Now()
			u, err := k.Enter(ctx, p)
			in <- entered{u, err, time.Since(began)}
		}()
	}
	synctest.Wait()
	return in
}

// newKeeper makes a keeper that the test closes.
func newKeeper(t *testing.T, opt Options) *Keeper {
	t.Helper()
	k := NewKeeper(opt)
	t.Cleanup(k.Close)
	return k
}

func TestSiblingsWaitForTheFirstByte(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, Options{})
		in := enter(t.Context(), k, large("a"), 8)
		require.Len(t, in, 1, "one goes ahead")
		<-time.After(3 * time.Second)
		synctest.Wait()
		require.Len(t, in, 1)
		first := <-in
		first.use.Warm()
		synctest.Wait()
		require.Len(t, in, 7, "the prefix is warm: all go")
		require.Equal(t, 3*time.Second, (<-in).took)

		late, err := k.Enter(t.Context(), large("a"))
		require.NoError(t, err)
		late.Leave()
		require.Len(t, enter(t.Context(), k, large("b"), 2), 1, "another prefix is not warm")
	})
}

func TestTheNextGoesAhead(t *testing.T) {
	t.Parallel()
	for name, giveUp := range map[string]func(*Use){"leaves": (*Use).Leave, "fails": (*Use).Failed} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				in := enter(t.Context(), newKeeper(t, Options{}), large("a"), 3)
				giveUp((<-in).use)
				synctest.Wait()
				require.Len(t, in, 1, "one of the two that waited")
				giveUp((<-in).use)
				synctest.Wait()
				require.Len(t, in, 1)
			})
		})
	}
}

func TestACancelledFirstLetsTheNextGoAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, Options{})
		stop := errors.New("stop")
		first, err := k.Enter(t.Context(), large("a"))
		require.NoError(t, err)
		ctx, cancel := context.WithCancelCause(t.Context())
		doomed := enter(ctx, k, large("a"), 1)
		others := enter(t.Context(), k, large("a"), 2)
		cancel(stop)
		require.ErrorIs(t, (<-doomed).err, stop)
		require.Empty(t, others, "one that waited is no loss to the others")
		first.Leave()
		synctest.Wait()
		require.Len(t, others, 1)
	})
}

func TestNobodyWaitsForever(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, Options{})
		in := enter(t.Context(), k, large("a"), 3)
		<-time.After(staggerLimit - time.Second)
		synctest.Wait()
		require.Len(t, in, 1)
		<-time.After(time.Second)
		synctest.Wait()
		require.Len(t, in, 3)
		<-in
		second := <-in
		require.Empty(t, enter(t.Context(), k, large("a"), 1))
		second.use.Warm()
		require.Len(t, enter(t.Context(), k, large("a"), 1), 1, "whoever is answered first warms it for all")
	})
}

func TestWarmthEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, Options{})
		u, err := k.Enter(t.Context(), large("a"))
		require.NoError(t, err)
		u.Warm()
		<-time.After(warmth - time.Second)
		u.Warm() // a later call of the same agent keeps it warm
		u.Leave()
		<-time.After(warmth - time.Second)
		require.Len(t, enter(t.Context(), k, large("a"), 3), 3)
		<-time.After(time.Second)
		require.Len(t, enter(t.Context(), k, large("a"), 3), 1, "it has gone cold")
	})
}

func TestSmallAndUnknownPrefixesAreNotHeldBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, Options{})
		for name, p := range map[string]Prefix{
			"below the minimum":        {Model: "gemini-3.8-flash", Digest: "a", Tokens: 4095},
			"below another's minimum":  {Model: "gemini-4-argon", Digest: "a", Tokens: 5000},
			"a model without caching":  {Model: "qwen", Digest: "a", Tokens: 1 << 20},
			"a request without prefix": {Model: "gemini-3.8-flash", Tokens: 20_000},
		} {
			in := enter(t.Context(), k, p, 4)
			require.Len(t, in, 4, name)
			u := (<-in).use
			u.Warm()
			u.Failed()
			require.Empty(t, u.Cache(0), name)
			u.Leave()
		}
		require.Len(t, enter(t.Context(), nil, large("a"), 3), 3, "no keeper")
		var none *Use
		none.Warm()
		none.Failed()
		none.Leave()
		require.Empty(t, none.Cache(0))
	})
}
