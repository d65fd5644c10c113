package record

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"divisi/internal/model"
	"divisi/internal/testkit/modeltest"
)

// What two runs printed of the same commands, side by side, and near misses.
func TestWhatIsVolatileIsNotCompared(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, recorded, asked string
		same                  bool
	}{
		{"run", "DIVISI_RUN=run-aaaa", "DIVISI_RUN=run-bbbb", true},
		{"another's run", "see run-aaaa", "see run-cccc", false},
		{"state", "cd /home/a/state/runs/run-aaaa/slots/slot1", "cd /tmp/b/runs/run-bbbb/slots/slot12", true},
		{"file in a slot", "/x/runs/run-aaaa/slots/slot1/x.go:4", "/x/runs/run-bbbb/slots/slot2/x.go:5", false},
		{"temporary directory", "/tmp/attempt-2785476486/tmp/tmp.PCgpJ2nDHK", "/tmp/attempt-3108228667/tmp/tmp.JzpOKPhTdj", true},
		{"build directory", "/tmp/go-build12/b001", "/tmp/go-build99/b001", true},
		{"artifact", "artifact:w/1/run_command@1#83674863:", "artifact:w/1/run_command@2#588be3fb:", true},
		{"artifact of another", "artifact:w/1/run_command@1#83674863", "artifact:v/1/run_command@1#83674863", false},
		{"fence", "<<<BEGIN bfec29fc03679179>>>", "<<<BEGIN bd3733e6bf91a2e0>>>", true},
		{"commit", "at 0123456789012345678901234567890123456789", "at abcdefabcdabcdefabcdabcdefabcdabcdefabcd", true},
		{"short number", "line 0123", "line 0124", false},
		{"test time", "--- FAIL: TestX (0.01s)", "--- FAIL: TestX (0.00s)", true},
		{"package time", "ok  \tharbour\t0.003s", "ok  \tharbour\t12.5s", true},
		{"long time", "took 1m30.5s", "took 2s", true},
		{"count", "12 tests", "13 tests", false},
		{"date", "Sat Nov 21 16:53:02 UTC 2026", "Mon Nov 23 6:54:31 UTC 2026", true},
		{"timestamp", "2026-11-21T16:53:02.123Z x", "2027-01-02 16:54:31+01:00 x", true},
		{"listing", "drwxr-xr-x 6 root Nov 21 16:51 cargo", "drwxr-xr-x 6 root Nov 22 16:54 cargo", true},
		{"name in a listing", "6 root Nov 21 16:51 cargo", "6 root Nov 21 16:51 berths", false},
		{"port", "http://127.0.0.1:46031/x", "http://127.0.0.1:39265/x", true},
		{"host", "http://127.0.0.1:46031", "http://10.0.0.1:46031", false},
		{"stack", "goroutine 7 [running]: main(0xc000123456)", "goroutine 19 [running]: main(0xc000777777)", true},
		{"line and column", "x.go:4:12: undefined", "x.go:5:12: undefined", false},
	} {
		recorded, asked := requestOf(t, c.recorded), requestOf(t, c.asked)
		d, err := comparison{"run-aaaa", "run-bbbb"}.differ(recorded, asked)
		require.NoError(t, err)
		require.Equal(t, c.same, d == "", "%s: %s", c.name, d)
	}
}

func requestOf(t *testing.T, text string) []byte {
	t.Helper()
	raw, err := canonical(modeltest.Ask("t", text), nil)
	require.NoError(t, err)
	return raw
}

func TestCanonicalHasAllThatIsSaidAndNoSecret(t *testing.T) {
	t.Parallel()
	req := modeltest.Ask("t", "the key is s3cret\"value <b>")
	req.Fallback = []model.Candidate{{Model: "other", Window: 5}}
	req.Config = &genai.GenerateContentConfig{
		MaxOutputTokens: 7, HTTPOptions: &genai.HTTPOptions{Headers: map[string][]string{"Authorization": {"Bearer x"}}},
	}
	raw, err := canonical(req, []string{`s3cret"value`})
	require.NoError(t, err)
	require.JSONEq(t, `{"model": "gemini-3.8-flash", "config": {"maxOutputTokens": 7}, "fallback": [{"model": "other", "window": 5}],
		"contents": [{"role": "user", "parts": [{"text": "the key is [secret] <b>"}]}]}`, string(raw))
	require.NotNil(t, req.Config.HTTPOptions, "the request is left alone")
	_, err = canonical(&model.Request{Contents: []*genai.Content{{Parts: []*genai.Part{{
		FunctionCall: &genai.FunctionCall{Args: map[string]any{"x": make(chan int)}},
	}}}}}, nil)
	require.Error(t, err)
}
