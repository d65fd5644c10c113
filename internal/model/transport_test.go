package model

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// silent is a server that never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}

func TestTheFlexTierIsGivenTime(t *testing.T) {
	t.Parallel()
	for slow, want := range map[bool]time.Duration{false: 10 * time.Minute, true: 20 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			c := &call{slow: slow, stop: stop, encoded: func() {}}
			req, err := http.NewRequestWithContext(context.WithValue(ctx, callKey{}, c), http.MethodPost, "http://127.0.0.1", nil)
			require.NoError(t, err)
			began := time.Now()
			_, err = (&wire{base: silent{}, first: 10 * time.Minute, idle: time.Minute}).RoundTrip(req)
			require.ErrorIs(t, err, errIdle)
			require.Equal(t, want, time.Since(began))
		})
	}
}
