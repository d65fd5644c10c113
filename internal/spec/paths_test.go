package spec_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

// A repository can have names that JSON has no words for: a patch that removes them reports which.
func TestNamesOfAPatchTravel(t *testing.T) {
	t.Parallel()
	p := spec.Patch{
		Commit: "c", Files: []string{"a.txt", "caf\xe9.txt", `"quoted"`, `"`, "line\nbreak", `back\slash`, "é"}, Lost: []string{"\xff"}, Added: 2,
	}
	data, err := json.Marshal(spec.Result{Patch: &p})
	require.NoError(t, err)
	require.Contains(t, string(data), `"a.txt","\"caf\\xe9.txt\""`)
	var r spec.Result
	require.NoError(t, json.Unmarshal(data, &r))
	require.Equal(t, &p, r.Patch)
	require.Error(t, json.Unmarshal([]byte(`{"files":["\"open"]}`), &p))
	data, err = json.Marshal(spec.Patch{Files: []string{"a"}})
	require.NoError(t, err)
	require.JSONEq(t, `{"commit":"","base":"","tree":"","files":["a"]}`, string(data))
}

func TestOldNamesCanBeRemoved(t *testing.T) {
	t.Parallel()
	set := spec.WriteSet{Protected: []string{"keep/**"}}
	for _, name := range []string{"caf\xe9.txt", "line\nbreak", `back\slash`} {
		require.Empty(t, set.Refuse(name))
		require.NotEmpty(t, set.RefuseNew(name))
		require.NotEmpty(t, set.Refuse("keep/"+name))
	}
	for _, name := range []string{"", "/a", "../a", "a/.git/hooks", "c:x"} {
		require.NotEmpty(t, set.Refuse(name), name)
	}
}
