package geminitest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestImplicitCaching(t *testing.T) {
	t.Parallel()
	ask := func(s *Server, model, text string) int {
		raw := fmt.Appendf(nil, `{"contents":[{"role":"user","parts":[{"text":%q}]}]}`, text)
		h := http.Header{}
		h.Set("X-Goog-Api-Key", "k")
		s.Ask(h, model, "streamGenerateContent", raw)
		log := s.Requests()
		return log[len(log)-1].Cached
	}
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{
			Script: parse(t, `rules: [{task: "*", steps: [{text: a}]}]`), Implicit: true, MinCache: 100, Delay: time.Second,
		})
		long := strings.Repeat("word ", 200)
		require.Zero(t, ask(s, "m", long+"1"))
		require.Zero(t, ask(s, "m", long+"2"), "the first answer has not begun")
		<-time.After(time.Second)
		require.InDelta(t, 250, ask(s, "m", long+"3"), 20)
		require.InDelta(t, 125, ask(s, "m", long[:500]+"4"), 20, "as much as is the same")
		require.Zero(t, ask(s, "m", long[:300]+"5"), "less than the minimum")
		require.Zero(t, ask(s, "m", "other "+long), "not from the first byte on")
		require.Zero(t, ask(s, "other", long+"1"), "another model")
	})
}
