package member

import (
	"bytes"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// watching notes the tasks, and lets one pass.
type watching struct {
	unwatched

	told    []string
	proven  int
	only    string
	refuses error
}

func (w *watching) Proven() error { w.proven++; return w.refuses }

func (w *watching) Deliver(subject, answers string) bool {
	w.told = append(w.told, subject+" "+answers)
	return subject == w.only
}

func TestDeliver(t *testing.T) {
	t.Parallel()
	const (
		greeting = "INFO {\"tls_required\":true}\r\n"
		event    = "MSG ev.r.m.x 7 $JS.ACK.EV.x.1.1.1.1.0 5\r\na\r\nb \r\n"
		lines    = "PING\r\n-ERR 'no'\r\nPONG\r\n"
		inside   = "MSG ctl.r.all 7 44\r\nPONG\r\nMSG task.g.r.t--1 7 $JS.ACK.TASKS.g 0\r\n\r\n"
		task     = "HMSG task.g.r.a--1 7 $JS.ACK.TASKS.g.1.5.5.1.0 12 14\r\nNATS/1.0\r\n\r\nxy\r\n"
		other    = "MSG task.g.r.b--1 7 $JS.ACK.TASKS.g.1.6.6.1.0 2\r\nxy\r\n"
	)
	for name, split := range map[string]bool{"whole": false, "byte by byte": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, out, in := &watching{only: "task.g.r.a--1"}, bytes.Buffer{}, strings.NewReader(greeting+event+lines+inside+other+task+other+event)
			if split {
				require.NoError(t, Deliver(&out, iotest.OneByteReader(in), w))
			} else {
				require.NoError(t, Deliver(&out, in, w))
			}
			require.Equal(t, greeting+event+lines+inside+task+event, out.String())
			require.Equal(t, 1, w.proven)
			b := "task.g.r.b--1 $JS.ACK.TASKS.g.1.6.6.1.0"
			require.Equal(t, []string{b, "task.g.r.a--1 $JS.ACK.TASKS.g.1.5.5.1.0", b}, w.told)
		})
	}
	var out bytes.Buffer
	require.ErrorContains(t, Deliver(&out, strings.NewReader(greeting+"MSG a 1 x\r\n"), unwatched{}), "the server sends a message of")
	out.Reset()
	require.NoError(t, Deliver(&out, strings.NewReader(greeting+"-ERR 'cut"), unwatched{}))
	require.Equal(t, greeting+"-ERR 'cut", out.String())
}
