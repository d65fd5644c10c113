package record

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestDifferNamesTheFirstPlace(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200)
	for _, c := range []struct{ recorded, asked, want string }{
		{`{"a": 1}`, `{"a": 1}`, ""},
		{`{"a": 1}`, `{"a": 2}`, `a was 1 and is 2`},
		{`{"a": 1}`, `{"a": "1"}`, `a was 1 and is "1"`},
		{`{"a": null}`, `{"a": []}`, `a was nothing and is a list`},
		{`{"a": {}}`, `{"a": true}`, `a was an object and is true`},
		{`{"a": 1, "b": 1}`, `{"b": 2}`, `a is gone`},
		{`{"b": 1}`, `{"a": 1, "b": 2}`, `a is new`},
		{`{"a": [1, {"b": [2]}]}`, `{"a": [1, {"b": [3]}, 4]}`, `a[1].b[0] was 2 and is 3`},
		{`{"a": [1]}`, `{"a": [1, 2]}`, `a has 2 entries and had 1`},
		{`{"a": "x"}`, `{"a": "y"}`, `a was "x" and is "y"`},
		{`{"a": "one\ntwo\nthree"}`, `{"a": "one\nzwei\nthree"}`, `a, line 2, was "two" and is "zwei"`},
		{`{"a": "one"}`, `{"a": "one\ntwo"}`, `a, line 2, is new: "two"`},
		{`{"a": "one\ntwo"}`, `{"a": "one"}`, `a, line 2, is gone: "two"`},
		{
			`{"a": "` + long + `a` + long + `"}`, `{"a": "` + long + `é"}`,
			`a was …"` + strings.Repeat("x", 20) + `a` + strings.Repeat("x", 59) + `"… and is …"` + strings.Repeat("x", 20) + `é"`,
		},
	} {
		got, err := comparison{}.differ([]byte(c.recorded), []byte(c.asked))
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%s and %s", c.recorded, c.asked)
	}
}

// Requests differ in words exactly when they differ as texts.
func TestDifferMissesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := tree(t, 3), tree(t, 3)
		for _, pair := range [][2]any{{a, b}, {a, a}} {
			x, err := json.Marshal(pair[0])
			require.NoError(t, err)
			y, err := json.Marshal(pair[1])
			require.NoError(t, err)
			got, err := comparison{}.differ(x, y)
			require.NoError(t, err)
			require.Equal(t, string(x) == string(y), got == "", "%s and %s", x, y)
		}
	})
}

// tree draws a small JSON value, so small that two are often the same.
func tree(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 4).Draw(t, "kind")
	if depth == 0 {
		kind %= 3
	}
	switch kind {
	case 0:
		return rapid.SampledFrom([]string{"", "a", "a\nb", "b", "é"}).Draw(t, "text")
	case 1:
		return rapid.Bool().Draw(t, "truth")
	case 2:
		return nil
	case 3:
		list := []any{}
		for range rapid.IntRange(0, 2).Draw(t, "length") {
			list = append(list, tree(t, depth-1))
		}
		return list
	default:
		object := map[string]any{}
		for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b"}), 0, 2, rapid.ID).Draw(t, "keys") {
			object[k] = tree(t, depth-1)
		}
		return object
	}
}
