package orchestrator_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/sandbox"
	"divisi/orchestrator"
)

// Gates elsewhere see the submodules of the checkout, what Git LFS keeps, and what git ignores; neither the host nor the worker can read it.
func TestSubmodulesAndLFSTravel(t *testing.T) {
	if testing.Short() {
		t.Skip("two runs in four processes")
	}
	if !sandbox.ShowsLayers() {
		t.Skip("trees of this machine have no layers")
	}
	t.Parallel()
	url, dir := broker(t), t.TempDir()
	repo, laptop, remove := newRepository()
	defer remove()
	lib := filepath.Join(dir, "lib")
	gitIn(t, dir, "init", "-q", lib)
	require.NoError(t, os.WriteFile(filepath.Join(lib, "lib.txt"), []byte("of the submodule\n"), 0o600))
	gitIn(t, lib, "add", "-A")
	me := []string{"-c", "user.name=a", "-c", "user.email=a@b.test"}
	gitIn(t, lib, append(me, "commit", "-qm", "Begin")...)
	gitIn(t, repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", lib, "vendor/lib")
	kept := "kept by LFS\n"
	oid := fmt.Sprintf("%x", sha256.Sum256([]byte(kept)))
	for name, text := range map[string]string{
		".git/lfs/objects/" + oid[:2] + "/" + oid[2:4] + "/" + oid: kept,
		"data.bin":       fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", oid, len(kept)),
		".gitattributes": "*.bin filter=lfs -text\n",
		".gitignore":     "deps/\n",
		"deps/dep.txt":   "of the environment\n",
		".divisi/divisi.yaml": "environment: [deps]\nderived: []\ngates:\n  - {name: beside, command: [sh, -c, 'grep -q \"of the submodule\" vendor/lib/lib.txt && " +
			"grep -q \"kept by LFS\" data.bin && grep -q \"of the environment\" deps/dep.txt && grep -iq note notes.txt']}\n",
	} {
		file := filepath.Join(repo, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	gitIn(t, repo, "-c", "filter.lfs.clean=cat", "add", "-A")
	gitIn(t, repo, append(me, "commit", "-qm", "Have a submodule")...)
	state, runs := filepath.Join(dir, "host"), orchestrator.On(orchestrator.Server{URL: url})
	hosting := hostAt(t, state, url)
	for range 2 {
		id := submitted(t, half{
			State: laptop, NATS: url, Repo: repo, Plan: plan.Name, PlanText: string(plan.Data), Role: "[sed, -i, 's/.*/A NOTE/', '{files}']",
			Send: true,
		})
		for _, away := range []string{repo, lib, laptop} { // nothing of it is read any more
			require.NoError(t, os.Rename(away, away+"-away"))
		}
		work := spawn(t, half{Work: true, State: filepath.Join(dir, "work"), Run: id, NATS: url})
		r, err := runs.Open(t.Context(), id)
		require.NoError(t, err)
		end, err := r.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, "done 1 landed, proven by one worker", end.State+" "+end.Reason)
		work.ended()
		require.NoError(t, r.Close())
		for _, away := range []string{repo, lib, laptop} {
			require.NoError(t, os.Rename(away+"-away", away))
		}
	}
	hosting.stopped()
}
