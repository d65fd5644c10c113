package agent

import (
	"context"
	"strings"
	"testing"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/contextscope/artifact"
	"divisi/internal/testkit/artifacttest"
	"divisi/internal/testkit/journaltest"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

// noHandles was told of any handle.
func noHandles() []string { return nil }

func TestArtifactsOnTheBus(t *testing.T) {
	t.Parallel()
	artifacttest.Run(t, func(t *testing.T) *artifact.Store {
		t.Helper()
		noSync := false
		b, err := bus.Open(t.Context(), bus.Options{Dir: t.TempDir(), Sync: &noSync, Log: zerolog.Nop()})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
		return artifact.NewStore(b, "r1", bus.ErrNotFound, bus.ErrExists)
	})
}

func TestArtifactStoreGivesBackWhatIsOfTheRun(t *testing.T) {
	t.Parallel()
	objects := journaltest.New()
	var told []string
	mine := NewArtifactStore(objects, "r1", "t1/1", func() []string { return told })
	sibling, stranger := NewArtifactStore(objects, "r1", "t2/1", noHandles), NewArtifactStore(objects, "r2", "t1/1", noHandles)
	one, err := mine.Put(t.Context(), "run_command", []byte("a"))
	require.NoError(t, err)
	two, err := mine.Put(t.Context(), "run_command", []byte("b"))
	require.NoError(t, err)
	told = []string{"artifact:t1/1/run_command@2#ca978112", one}
	again, err := mine.Put(t.Context(), "run_command", []byte("a"))
	require.NoError(t, err)
	require.Equal(t, "artifact:t1/1/run_command@1#ca978112", one)
	require.Equal(t, "artifact:t1/1/run_command@2#3e23e816", two)
	require.Equal(t, one, again, "what comes again looks the same")
	for _, s := range []*ArtifactStore{mine, sibling} {
		data, err := s.Get(t.Context(), one)
		require.NoError(t, err)
		require.Equal(t, "a", string(data))
	}
	_, err = stranger.Get(t.Context(), one)
	require.ErrorIs(t, err, artifact.ErrNotFound)
}

func TestArtifactStoreReadsOtherObjectsOfTheRunOnly(t *testing.T) {
	t.Parallel()
	objects := journaltest.New()
	s := NewArtifactStore(objects, "r1", "t1/1", noHandles)
	body := []byte("content")
	for _, name := range []string{"part-" + artifact.Digest(body), "output-" + artifact.Digest(body), "artifact/r1/t1/1/old-abc"} {
		require.NoError(t, objects.Put(t.Context(), name, body))
		data, err := s.Get(t.Context(), name)
		require.NoError(t, err, name)
		require.Equal(t, body, data)
	}
	for _, name := range []string{"pack-abc", "artifact/r2/t1/1/x", "output-abc", "slice-x", "../x", "", "artifact:x"} {
		require.NoError(t, objects.Put(t.Context(), name, body))
		_, err := s.Get(t.Context(), name)
		require.ErrorIs(t, err, artifact.ErrHandle, name)
	}
	_, err := s.Get(t.Context(), "part-"+strings.Repeat("0", 64))
	require.ErrorIs(t, err, artifact.ErrNotFound)
	require.NoError(t, objects.Put(t.Context(), "part-"+artifact.Digest(body), []byte("other")))
	_, err = s.Get(t.Context(), "part-"+artifact.Digest(body))
	require.ErrorIs(t, err, artifact.ErrCorrupt)
}

func TestOwnEventsAreShownAsText(t *testing.T) {
	t.Parallel()
	e := &Agent{events: []contextscope.Event{
		{Seq: 1, Kind: contextscope.KindStarted},
		{Seq: 2, Kind: contextscope.KindUser, Content: genai.NewContentFromText("look here", genai.RoleUser)},
	}}
	text, err := e.Event(t.Context(), 2)
	require.NoError(t, err)
	require.Equal(t, "look here", text)
	_, err = e.Event(t.Context(), 3)
	require.ErrorIs(t, err, artifact.ErrNotFound)
}
