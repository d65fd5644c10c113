package model

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

// silent is a server that never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}

func TestHowLongTheFirstByteMayTake(t *testing.T) {
	t.Parallel()
	think := func(level genai.ThinkingLevel) *genai.GenerateContentConfig {
		return &genai.GenerateContentConfig{ThinkingConfig: &genai.ThinkingConfig{ThinkingLevel: level}}
	}
	const flash, pro = "gemini-3.8-flash", "gemini-3.1-pro-preview"
	for _, c := range []struct {
		name        string
		req         Request
		asked, want time.Duration
	}{
		{"as a rule", Request{Model: flash}, 0, time.Minute},
		{"it thinks for long", Request{Model: flash, Config: think("HIGH")}, 0, 5 * time.Minute},
		{"it thinks for long by itself", Request{Model: pro}, 0, 5 * time.Minute},
		{"it is told not to", Request{Model: pro, Config: think("LOW")}, 0, time.Minute},
		{"somebody has said how long", Request{Model: pro}, 2 * time.Minute, 2 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			own := &call{req: &c.req, stop: stop, encoded: func() {}}
			req, err := http.NewRequestWithContext(context.WithValue(ctx, callKey{}, own), http.MethodPost, "http://127.0.0.1", nil)
			require.NoError(t, err)
			patience := func(string) (time.Duration, time.Duration) { return c.asked, 0 }
			began := time.Now()
			_, err = (&wire{base: silent{}, patience: patience, silence: time.Minute}).RoundTrip(req)
			require.ErrorIs(t, err, errIdle)
			require.Equal(t, c.want, time.Since(began), c.name)
		})
	}
}
