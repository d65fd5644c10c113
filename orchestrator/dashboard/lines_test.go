package dashboard

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNewestFirst: a page begins with the newest lines, and asks for those before them until there are none: together they are
// all, each once, whatever the server keeps in memory.
func TestNewestFirst(t *testing.T) {
	t.Parallel()
	for name, memory := range map[string]int{"in memory": defaultMemory, "read again": 20_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := newLog()
			log.bulk(0, 40_000)
			s := start(t, log, func(s *Server) { s.opts.Memory = memory })
			require.NoError(t, read(t, s, log.batches[0].Pos, 39_999).Close(), "all of it is there")
			newest := &seen{}
			newest.take(t, get(t, data(s)+"events?newest=21", nil).Body, 40)
			require.Len(t, newest.ids, 40)
			require.Equal(t, log.last(), newest.last)
			all, asked := newest.ids, 0
			for before := newest.first; before > 0; asked++ {
				c := older(t, s, before)
				all, before = append(slices.Clone(c.ids), all...), c.first
			}
			same(t, log.ids(), all)
			require.Equal(t, 4, asked, "two full answers, a rest, and nothing")
		})
	}
}

// older reads the lines before a position.
func older(t *testing.T, s *Server, before uint64) *seen {
	t.Helper()
	res := get(t, fmt.Sprintf("%slines?before=%d", data(s), before), nil)
	require.Equal(t, http.StatusOK, res.StatusCode)
	c, rows := &seen{}, bufio.NewScanner(res.Body)
	rows.Buffer(nil, 1<<20)
	for rows.Scan() {
		var lines []logLine
		require.NoError(t, json.Unmarshal(rows.Bytes(), &lines))
		c.lines(t, lines[len(lines)-1].Pos, rows.Text())
	}
	require.NoError(t, rows.Err())
	require.Less(t, c.last, before)
	return c
}

// TestNewestOfNothing: a page of a run that has not begun gets all that comes.
func TestNewestOfNothing(t *testing.T) {
	t.Parallel()
	log := newLog()
	s := start(t, log, nil)
	body := bufio.NewReader(get(t, data(s)+"events?newest=20", nil).Body)
	for line, view := "", false; line != "\n" || !view; view = view || line == "event: view\n" { // the stream knows where it begins
		var err error
		line, err = body.ReadString('\n')
		require.NoError(t, err)
	}
	log.bulk(0, 100)
	c := &seen{}
	c.take(t, body, 100)
	same(t, log.ids(), c.ids)
	require.Empty(t, older(t, s, c.first).ids)
}

// TestNewestOfATornLog: a log that ends before its newest message is whole where it ends.
func TestNewestOfATornLog(t *testing.T) {
	t.Parallel()
	log := newLog()
	log.bulk(0, 100)
	s := start(t, torn{log}, nil)
	c := &seen{}
	c.take(t, get(t, data(s)+"events?newest=1000", nil).Body, 100)
	same(t, log.ids(), c.ids)
	require.Empty(t, older(t, s, c.first).ids)
}

func TestRefusedLines(t *testing.T) {
	t.Parallel()
	s := start(t, sampleLog(t, 5), nil)
	for path, want := range map[string]int{
		"runs/r1/lines": 400, "runs/r1/lines?before=0": 400, "runs/r1/lines?before=x": 400, "runs/r1/lines?before=1": 200,
		"runs/r1/lines?before=18446744073709551615": 200, "runs/r2/lines?before=9": 404,
		"runs/r1/events?newest=0": 400, "runs/r1/events?newest=x": 400,
	} {
		require.Equal(t, want, get(t, base(s)+"api/v1/"+path, nil).StatusCode, path)
	}
}
