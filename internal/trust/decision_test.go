package trust

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func agreed(requests ...string) Decision {
	return Decision{
		Format: format, Repository: "/r/.git", Requests: requests, Hash: hash(requests), Agreed: time.Unix(1, 0).UTC(),
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	d := agreed("a", "b")
	require.True(t, d.Covers([]string{"a", "b"}))
	for _, other := range [][]string{nil, {"a"}, {"b"}, {"a", "b", "c"}} {
		require.False(t, d.Covers(other), other)
	}
	require.Equal(t, []string{"  a", "- b", "+ c"}, d.Changes([]string{"a", "c"}))
	var none *Decision
	require.False(t, none.Covers(nil))
	require.Equal(t, []string{"a"}, none.Changes([]string{"a"}))
}

// What cannot be a decision about this repository, in this form, is none.
func TestParse(t *testing.T) {
	t.Parallel()
	good := agreed("a", "b")
	encode := func(change func(*Decision)) string {
		d := good
		change(&d)
		data, err := json.Marshal(d)
		require.NoError(t, err)
		return string(data)
	}
	whole := encode(func(*Decision) {})
	got, err := Parse([]byte(whole), "/r/.git")
	require.NoError(t, err)
	require.Equal(t, &good, got)
	for text, want := range map[string]string{
		"": "damaged", "null": "format 0", "[]": "damaged", whole[:len(whole)-1]: "damaged", whole + "{}": "damaged",
		`{"surprise":1}`: "damaged",
		encode(func(d *Decision) { d.Format = 2 }):                         "it has format 2, and this program reads 1",
		encode(func(d *Decision) { d.Repository = "/other/.git" }):         "another repository",
		encode(func(d *Decision) { d.Requests = []string{"a", "b", "c"} }): "its hash is not that of its requests",
		encode(func(d *Decision) { *d = agreed("\x1b[2J") }):               "damaged",
	} {
		_, err := Parse([]byte(text), "/r/.git")
		require.ErrorContains(t, err, want, text)
	}
}

// FuzzParse: no file is a crash, and none that is read covers another list than its own.
func FuzzParse(f *testing.F) {
	whole, err := json.Marshal(agreed("a", "b"))
	require.NoError(f, err)
	f.Add(whole)
	f.Add([]byte(`{"format":1,"repository":"/r/.git","requests":["\u001b"],"hash":""}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Parse(data, "/r/.git")
		if err != nil {
			require.Nil(t, d)
			return
		}
		require.Equal(t, "/r/.git", d.Repository)
		require.True(t, d.Covers(d.Requests))
		require.False(t, d.Covers(append(d.Requests, "more")))
		for _, line := range d.Changes([]string{"more"}) {
			require.False(t, unprintable(line))
		}
	})
}
