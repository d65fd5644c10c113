package artifact_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"divisi/contextscope/artifact"

	"github.com/stretchr/testify/require"
)

func TestHandleText(t *testing.T) {
	t.Parallel()
	h := artifact.Handle{Name: "task-1/out.log", Version: 12, Digest: artifact.Digest([]byte("x"))}
	require.Equal(t, "artifact:task-1/out.log@12#2d711642", h.String())
	back, err := artifact.ParseHandle(h.String())
	require.NoError(t, err)
	require.Equal(t, artifact.Handle{Name: "task-1/out.log", Version: 12, Digest: "2d711642"}, back)
	require.True(t, back.Matches(h.Digest))
	require.False(t, back.Matches(artifact.Digest([]byte("y"))))
	require.False(t, artifact.Handle{}.Matches(h.Digest), "no digest means nothing")
}

func TestParseHandleFaults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                         "does not begin with artifact:",
		"a@1#2d711642":             "does not begin with artifact:",
		"artifact:a":               "has no @version",
		"artifact:../a@1#2d711642": `the name "../a"`,
		"artifact:a@1":             "has no #digest",
		"artifact:a@1#2d71":        "has no #digest",
		"artifact:a@1#2D711642":    "has no #digest",
		"artifact:a@0#2d711642":    `has the version "0"`,
		"artifact:a@01#2d711642":   `has the version "01"`,
		"artifact:a@+1#2d711642":   `has the version "+1"`,
		"artifact:a@1#2d711642#":   "has no #digest",
		"artifact:" + strings.Repeat("a", 201) + "@1#2d711642": "at most 200 bytes",
	} {
		_, err := artifact.ParseHandle(text)
		require.ErrorIs(t, err, artifact.ErrHandle, text)
		require.ErrorContains(t, err, want)
	}
}

func FuzzParseHandle(f *testing.F) {
	f.Add("artifact:a/b@1#2d711642")
	f.Add("artifact:@#")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := artifact.ParseHandle(text)
		if err != nil {
			require.ErrorIs(t, err, artifact.ErrHandle)
			return
		}
		again, err := artifact.ParseHandle(h.String())
		require.NoError(t, err)
		require.True(t, again.Matches(h.Digest))
	})
}

func ExampleHandle() {
	store := newBlobs().open()
	handle, err := store.Put(context.Background(), "build.log", "text/plain", []byte("ok\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(handle)
	parsed, err := artifact.ParseHandle("artifact:build.log@1#" + handle.Digest[:8])
	if err != nil {
		fmt.Println(err)
		return
	}
	got, err := store.Get(context.Background(), parsed)
	fmt.Println(got.Handle.Size, got.Handle.MediaType, err)
	// Output:
	// artifact:build.log@1#dc51b8c9
	// 3 text/plain <nil>
}
