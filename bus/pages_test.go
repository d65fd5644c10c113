package bus

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// paged has a bus read the log of a run through pages of two messages that another bus makes.
func paged(t *testing.T, of *Bus, o Options) (b *Bus, away chan error) {
	t.Helper()
	b, away = open(t, o), make(chan error, 1)
	b.ReadThrough(func(ctx context.Context, from uint64) (page []Message, err error) {
		select {
		case err := <-away:
			return nil, err
		default:
		}
		for m, err := range of.Read(ctx, RunFilter("r"), from) {
			if err != nil || len(page) == 2 {
				return page, err
			}
			page = append(page, m)
		}
		return page, nil
	})
	return b, away
}

// TestALogIsReadThroughPages: a reader gets what the filter matches, each once and in order, also of what comes later, and waits
// where who answers is away.
func TestALogIsReadThroughPages(t *testing.T) {
	t.Parallel()
	of, ctx := open(t, fast(t)), soon(t)
	b, away := paged(t, of, fast(t))
	last := uint64(0)
	write := func(n int) {
		for i := range n {
			at, err := of.Append(ctx, ConductorSubject("r", "run"), []byte(fmt.Sprint(i)), last)
			require.NoError(t, err)
			last = at
			_, err = of.Append(ctx, ConductorSubject("r", fmt.Sprintf("k%d", at)), nil, 0)
			require.NoError(t, err)
		}
	}
	write(5)
	var read []string
	for m, err := range b.Read(ctx, ConductorSubject("r", "run"), 3) {
		require.NoError(t, err)
		read = append(read, string(m.Data))
	}
	require.Equal(t, []string{"1", "2", "3", "4"}, read)

	tail, stop := context.WithCancel(ctx)
	defer stop()
	n := 0
	for m, err := range b.Tail(tail, RunFilter("r"), 0) {
		require.NoError(t, err)
		n++
		require.Equal(t, uint64(n), m.Pos)
		if n == 10 {
			away <- fmt.Errorf("the host: %w", ErrNoListener)
			write(1)
		}
		if n == 12 {
			stop()
		}
	}
	require.Equal(t, 12, n)

	refused := errors.New("refused")
	away <- refused
	for _, err := range b.Tail(ctx, RunFilter("r"), 0) {
		require.ErrorIs(t, err, refused)
	}
}
