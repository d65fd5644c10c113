package member

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// unwatched lets everything pass.
type unwatched struct{}

func (unwatched) Connect(string, string) {}

func (unwatched) Announced(string, int) error { return nil }

func (unwatched) Publish(string, string, []byte, int) (bool, error) { return true, nil }

func (unwatched) Proven() error { return nil }

func (unwatched) Deliver(string, string) bool { return true }

func TestForward(t *testing.T) {
	t.Parallel()
	pull := `{"config":{"ack_policy":"none","mem_storage":true}}`
	kept := `{"config":{"durable_name":"x","ack_policy":"none","mem_storage":true}}`
	idle := `{"config":{"ack_policy":"none","mem_storage":true,"inactive_threshold":60000000001}}`
	push := `{"config":{"deliver_subject":"ev.r.m.x"}}`
	for in, want := range map[string]string{
		"PING\r\nPONG\r\n":                  "PING\r\nPONG\r\n",
		"CONNECT {\"a\": \"b  c\"}\r\n":     "CONNECT {\"a\": \"b  c\"}\r\n",
		"sub  ctl.r\t q 1\r\nUNSUB 1 2\r\n": "SUB ctl.r q 1\r\nUNSUB 1 2\r\n",
		"PUB $JS.API.STREAM.INFO.EV 26\r\n{\"subjects_filter\":\"ev.>\"}\r\n": "PUB $JS.API.STREAM.INFO.EV 26\r\n{\"subjects_filter\":\"ev.>\"}\r\n",
		"PUB a 3\r\n\r\n\x00\r\n":                                 "PUB a 3\r\n\r\n\x00\r\n",
		"pub a _INBOX_w1.x.y 0\r\n\r\n":                           "PUB a _INBOX_w1.x.y 0\r\n\r\n",
		"HPUB a _JOIN_9.x 2 3\r\nhhx\r\n":                         "HPUB a _JOIN_9.x 2 3\r\nhhx\r\n",
		"PUB $JS.API.CONSUMER.CREATE.EV.x 51\r\n" + pull + "\r\n": "PUB $JS.API.CONSUMER.CREATE.EV.x 51\r\n" + pull + "\r\n",
	} {
		var out bytes.Buffer
		if !strings.HasPrefix(in, "CONNECT") {
			in, want = hello+in, hello+want
		}
		require.NoError(t, Forward(&out, strings.NewReader(in), unwatched{}), in)
		require.Equal(t, want, out.String())
	}
	for in, why := range map[string]string{
		"PUB $JS.API.STREAM.INFO.EV 24\r\n{\"deleted_details\":true}\r\n": "asks for a list of free positions",
		"PUB $JS.API.STREAM.INFO.EV 1\r\n{\r\n":                           "cannot be read",
		"PUB ev.r.a.w.*.t.1 0\r\n\r\n":                                    "which is no one place",
		"PUB ev.r.a.w.> 0\r\n\r\n":                                        "which is no one place",
		"PUB obj..x 0\r\n\r\n":                                            "which is no one place",
		"PUB a ev.r.m.x 0\r\n\r\n":                                        "is no inbox",
		"PUB a $JS.API.STREAM.PURGE.EV 0\r\n\r\n":                         "is no inbox",
		"PUB a _INBOX.x 0\r\n\r\n":                                        "is no inbox",
		"PUB a _INBOX_w1.> 0\r\n\r\n":                                     "is no inbox",
		"PUB\ta\tev.r.m.x\t0\r\n\r\n":                                     "is no inbox",
		"hpub a ev.r.m.x 0 0\r\n\r\n":                                     "is no inbox",
		"PUB a b c 0\r\n\r\n":                                             "the line begins",
		"PUB a -1\r\n\r\n":                                                "the size",
		"PUB a +1\r\nx\r\n":                                               "the size",
		"PUB a 1048577\r\n":                                               "the size",
		"HPUB a 5 3\r\nxxx\r\n":                                           "the size",
		"PUB a 1\r\nxPUB":                                                 "does not end well",
		"PUB a 1\n":                                                       "does not end well",
		"PUB a 1\rPUB a ev.r.m.x 0\r\n":                                   "does not end well",
		"\r\n":                                                            "an empty line",
		"CONNECT x\r\n":                                                   "who connects cannot be read",
		"INFO {}\r\n":                                                     "the line begins",
		"RMSG a b 1\r\n":                                                  "the line begins",
		"PING":                                                            "does not end",
		"SUB " + strings.Repeat("a", maxLine) + " 1\r\n":                  "does not end",
		"PUB $JS.API.CONSUMER.CREATE.EV.x 41\r\n" + push + "\r\n":                     "pushes to \"ev.r.m.x\"",
		fmt.Sprintf("PUB $JS.API.CONSUMER.CREATE.EV.x %d\r\n%s\r\n", len(kept), kept): "keep for longer than",
		fmt.Sprintf("PUB $JS.API.CONSUMER.CREATE.EV.x %d\r\n%s\r\n", len(idle), idle): "keep for longer than",
		"PUB $JS.API.CONSUMER.CREATE.EV.x 2\r\n{}\r\n":                                "keep for longer than",
		"PUB $JS.API.CONSUMER.CREATE.EV.x 1\r\n{\r\n":                                 "cannot be read",
		"PUB $JS.API.DIRECT.GET.OBJ.obj.> 0\r\n\r\n":                                  "names no object",
		"PUB $JS.API.DIRECT.GET.CACHE.cache.*.n.x 0\r\n\r\n":                          "names no object",
		"PUB $JS.API.STREAM.INFO.OBJ 2\r\n{}\r\n":                                     "a list of what stream OBJ has",
		"HPUB $JS.API.CONSUMER.CREATE.EV.x 2 43\r\nhh" + push + "\r\n":                "pushes to \"ev.r.m.x\"",
	} {
		var out bytes.Buffer
		said := hello
		if strings.HasPrefix(in, "CONNECT") {
			said = ""
		}
		err := Forward(&out, strings.NewReader(said+in), unwatched{})
		require.ErrorIs(t, err, ErrRefused, in)
		require.ErrorContains(t, err, why, in)
		require.Equal(t, said, out.String(), in)
	}
}

// hello is how a client begins.
const hello = "CONNECT {}\r\n"

// TestNothingComesBeforeWhoConnects: a stranger has no message kept.
func TestNothingComesBeforeWhoConnects(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"PUB a 1000000\r\n", "HPUB a 1 1000000\r\n", "SUB a 1\r\n", "UNSUB 1\r\n"} {
		var out bytes.Buffer
		require.ErrorContains(t, Forward(&out, strings.NewReader(in), unwatched{}), "comes before who connects", in)
		require.Empty(t, out.String())
	}
}

// TestAClientListensToSoMuch: what it has ended itself counts no more, what ends after so many messages counts on.
func TestAClientListensToSoMuch(t *testing.T) {
	t.Parallel()
	var some, many strings.Builder
	some.WriteString(hello)
	for i := range 2 * maxListens {
		fmt.Fprintf(&some, "SUB a %d\r\nUNSUB %d\r\n", i, i)
	}
	require.NoError(t, Forward(io.Discard, strings.NewReader(some.String()), unwatched{}))
	many.WriteString(hello)
	for i := range maxListens + 1 {
		fmt.Fprintf(&many, "SUB a %d\r\nUNSUB %d 1\r\n", i, i)
	}
	var out bytes.Buffer
	require.ErrorContains(t, Forward(&out, strings.NewReader(many.String()), unwatched{}), "more than 1000 subscriptions")
	require.Equal(t, maxListens, strings.Count(out.String(), "\r\nSUB "))
}

func TestGreet(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	from := bufio.NewReader(strings.NewReader("INFO {\"nonce\":\"x\",\"connect_urls\":[\"127.0.0.1:1\"]} \r\nPING\r\n"))
	require.NoError(t, Greet(&out, from))
	require.Equal(t, "INFO {\"nonce\":\"x\",\"tls_required\":true}\r\n", out.String())
	rest, err := from.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "PING\r\n", rest)
	require.Error(t, Greet(&out, bufio.NewReader(strings.NewReader("PING\r\n"))))
}

// FuzzForward: what was let through is what is let through again, and no answer leaves the inboxes.
func FuzzForward(f *testing.F) {
	for _, s := range []string{
		"PING\r\n", "PUB a ev.r.m.x 0\r\n\r\n", "HPUB a _INBOX_w.x 1 2\r\nab\r\n", "CONNECT {}\r\nSUB a 1\r\n", "pub \t a 1\r\n\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var once, twice bytes.Buffer
		_ = Forward(&once, bytes.NewReader(in), unwatched{})
		require.NoError(t, Forward(&twice, bytes.NewReader(once.Bytes()), unwatched{}))
		require.Equal(t, once.String(), twice.String())
	})
}
