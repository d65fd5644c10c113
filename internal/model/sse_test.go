package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func reframe(t testing.TB, src io.Reader) (string, error) {
	t.Helper()
	var broken error
	r := newReframer(io.NopCloser(src), func(err error) { broken = err })
	out, err := io.ReadAll(r)
	require.NoError(t, err, "errors go to the side")
	require.NoError(t, r.Close())
	return string(out), broken
}

func TestReframer(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, in, want string }{
		{"as google writes", "data: {\"a\":1}\r\n\r\ndata: {\"b\":2}\r\n\r\n", "data: {\"a\":1}\n\ndata: {\"b\":2}\n\n"},
		{"no space", "data:{}\n\n", "data: {}\n\n"},
		{"comments", ": ping\n\ndata: {}\n: ping\n\n:\n\n", "data: {}\n\n"},
		{"other fields", "event: x\nid: 1\nretry: 5\ndata: {}\n\n", "data: {}\n\n"},
		{"done", "data: {}\n\ndata: [DONE]\n\n", "data: {}\n\n"},
		{"several lines", "data: {\ndata: \"a\":1}\n\n", "data: { \"a\":1}\n\n"},
		{"empty data line", "data: {\ndata:\ndata: }\n\n", "data: {  }\n\n"},
		{"mixed endings", "data: {}\r\n\ndata: []\r\rdata: 1\n\r\n", "data: {}\n\ndata: []\n\ndata: 1\n\n"},
		{"no last line", "data: {}", "data: {}\n\n"},
		{"mark", "\uFEFFdata: {}\n\n", "data: {}\n\n"},
		{"bare document", "{\n \"error\": {\n\n \"code\": 1}\n}\n", "data: {  \"error\": {  \"code\": 1} }\n\n"},
		{"bare line, then events", "{\"a\":1}\n\ndata: {}\n\n", "data: {\"a\":1}\n\ndata: {}\n\n"},
		{"nothing", "", ""},
		{"a page", "<html>\n<body>\n\n</html>", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, src := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
				got, err := reframe(t, src)
				require.NoError(t, err)
				require.Equal(t, c.want, got)
			}
		})
	}
}

func TestReframerKeepsErrorsAside(t *testing.T) {
	t.Parallel()
	cut := errors.New("cut")
	got, err := reframe(t, io.MultiReader(strings.NewReader("data: {}\n\ndata: {\"half\":1}\n"), iotest.ErrReader(cut)))
	require.ErrorIs(t, err, cut)
	require.Equal(t, "data: {}\n\n", got, "the event under way is dropped: it may be half of one")
}

func TestReframerBoundsAnEvent(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"data: " + strings.Repeat("x", 200_000), strings.Repeat("data: 12345\n", 20_000)} {
		var broken error
		r := newReframer(io.NopCloser(strings.NewReader(in)), func(err error) { broken = err })
		r.events.limit = 100_000
		got, err := io.ReadAll(r)
		require.NoError(t, err)
		require.ErrorIs(t, broken, errEventTooLong)
		require.Empty(t, got)
	}
}

// FuzzReframer: whatever comes in, what goes out is what the SDK can parse, however the reads are cut; and an event
// that is JSON comes through as the same JSON.
func FuzzReframer(f *testing.F) {
	for _, seed := range []string{
		"data: {\"a\":1}\r\n\r\n", ": x\n\ndata: {\ndata: }\n\n", "{\"e\":\n1}\r\r", "data\n\ndata:\rid:\n", "\uFEFF{\n\n}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, err := reframe(t, bytes.NewReader(in))
		require.NoError(t, err)
		slow, err := reframe(t, iotest.OneByteReader(bytes.NewReader(in)))
		require.NoError(t, err)
		require.Equal(t, whole, slow)
		for line := range strings.Lines(whole) {
			require.True(t, line == "\n" || strings.HasPrefix(line, "data: "), "%q", line)
			require.NotContains(t, line, "\r")
		}
		var compact bytes.Buffer
		if json.Compact(&compact, in) == nil && compact.Len() > 0 {
			framed, err := reframe(t, strings.NewReader("data: "+compact.String()+"\n\n"))
			require.NoError(t, err)
			require.Equal(t, "data: "+compact.String()+"\n\n", framed)
		}
	})
}
