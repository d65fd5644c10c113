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
			sent, err := Press(plain)
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
	_, err = w.Write(make([]byte, maxLoose+1))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	for _, bad := range [][]byte{bomb.Bytes(), gzipMagic, bomb.Bytes()[:100]} {
		events := DecodeEvents(bus.Message{Data: bad})
		require.Len(t, events, 1)
		require.NotEmpty(t, reasonOf(t, events[0]))
	}
	_, err = loosen(bomb.Bytes())
	require.ErrorIs(t, err, errLoose)
}
