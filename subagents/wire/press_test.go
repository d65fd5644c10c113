package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
)

func event(text string) contextscope.Event {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return contextscope.Event{V: contextscope.EventVersion, ID: "e1", Kind: contextscope.KindPlan, Data: data}
}

func TestALargeMessageTravelsSmallAndASmallOneAsItIs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text    string
		pressed bool
	}{
		"small": {"a few words", false},
		"large": {strings.Repeat("the same words ", 400_000), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain, err := EncodeEvents([]contextscope.Event{event(tc.text)})
			require.NoError(t, err)
			sent, err := Press("", plain)
			require.NoError(t, err)
			require.Equal(t, !tc.pressed, bytes.Equal(plain, sent))
			require.Less(t, len(sent), maxPlain)
			events := DecodeEvents(bus.Message{Data: sent, Pos: 7})
			want := event(tc.text)
			want.Pos = 7
			require.Equal(t, []contextscope.Event{want}, events)
		})
	}
}

func TestWhatIsNotPressedSoundlyIsRefused(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	w, err := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
	require.NoError(t, err)
	_, err = w.Write(make([]byte, MaxLoose+1))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	for _, bad := range [][]byte{bomb.Bytes(), gzipMagic, bomb.Bytes()[:100]} {
		events := DecodeEvents(bus.Message{Data: bad})
		require.Len(t, events, 1)
		require.NotEmpty(t, reasonOf(t, events[0]))
	}
	_, err = loosen("", bomb.Bytes())
	require.ErrorIs(t, err, errLoose)
}

// A worker's message of a few bytes must not take the memory of all who read the log.
func TestAWorkersMessageIsBounded(t *testing.T) {
	t.Parallel()
	pressed := func(text string) []byte {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		_, err := w.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return out.Bytes()
	}
	worker := bus.AttemptSubject("r", "w", "reader", "t", 1)
	many := "[" + strings.Repeat("0,", maxEvents) + "0]"
	for name, c := range map[string]struct {
		subject string
		data    []byte
		events  int
		why     string
	}{
		"too many":                  {worker, []byte(many), 1, "the message holds more than 1024 events"},
		"too many, pressed":         {worker, pressed(many), 1, "the message holds more than 1024 events"},
		"as many as there may be":   {worker, []byte(strings.Replace(many, "0,", "", 1)), maxEvents, "cannot unmarshal number"},
		"too large":                 {worker, pressed("[" + strings.Repeat(" ", maxWorker) + "]"), 1, "more than 8388608 bytes"},
		"on a subject of no form":   {"ev.r.a.w", []byte(many), 1, "the message holds more than 1024 events"},
		"the conductor's, and many": {bus.ConductorSubject("r", "task"), []byte(many), maxEvents + 1, "cannot unmarshal number"},
	} {
		events := DecodeEvents(bus.Message{Subject: c.subject, Data: c.data, Pos: 7})
		require.Equal(t, []int{c.events}, []int{len(events)}, name)
		require.Contains(t, reasonOf(t, events[0]), c.why, name)
	}
	large := []byte(strings.Repeat("word ", maxWorker/5+1))
	sent, err := Press(worker, large)
	require.NoError(t, err)
	require.Equal(t, large, sent, "the bus refuses it, and the worker tells so in its result")
}
