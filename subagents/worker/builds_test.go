package worker

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"divisi/internal/sandbox"
	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

// What the gates of a patch write over the build cache, those of what is built on it find when all were green, and no others.
func TestSlowAPatchWritesABuildCacheOfItsOwn(t *testing.T) {
	t.Parallel()
	if err := sandbox.Views(); err != nil {
		t.Skip(err)
	}
	s := newSite(t)
	s.work(nil, "tester")
	tree, err := s.mirror.Tree(t.Context(), s.head)
	require.NoError(t, err)
	commits := map[string]string{"base": s.head}
	commit := func(name, on string) {
		commits[name], err = s.mirror.CommitTree(tree, []string{commits[on]}, name, author, author, time.Unix(1, 0))
		require.NoError(t, err)
	}
	commit("one", "base")
	commit("refused", "one")
	commit("two", "one")
	commit("waits", "two")
	commit("three", "waits")
	commit("four", "waits")
	for i, test := range []struct {
		head, on          string
		red               bool
		sees, writes, why string
	}{
		{"base", "", false, "", "base", "the first"},
		{"one", "base", true, "base", "forged", "a first try"},
		{"one", "base", false, "base", "one", "a second try begins with what the first began with"},
		{"refused", "one", true, "base one", "forged", "a landed batch is below later ones"},
		{"two", "one", false, "base one", "two", "a refused one is not"},
		{"waits", "two", true, "base one two", "forged", "two batches are landed"},
		{"three", "waits", true, "base one two", "forged", "a batch is not below one that began before it was green"},
		{"waits", "two", false, "base one two", "waits", "now it is green"},
		{"three", "waits", false, "base one two", "three", "the other one begins its second try with the same"},
		{"four", "waits", false, "base one two waits", "four", "a later one has it"},
		{"two", "", false, "base one two", "final", "the final gates"},
		{"base", "", false, "base", "again", "the base commit again"},
	} {
		a := s.assignment(testerRole, "--batch-"+strconv.Itoa(i))
		a.Head, a.Base = commits[test.head], test.head == "base"
		if test.on != "" {
			a.Since = commits[test.on]
		}
		line := fmt.Sprintf(`ls "$XDG_CACHE_HOME"; touch "$XDG_CACHE_HOME/%s"`, test.writes)
		then := "true"
		if test.red {
			then = "false"
		}
		a.Project.Gates = []spec.Gate{
			{Name: "first", Command: []string{"sh", "-c", line}},
			{Name: "second", Command: []string{"sh", "-c", fmt.Sprintf(`test -e "$XDG_CACHE_HOME/%s" && %s`, test.writes, then)}},
		}
		s.enqueue(a)
		r := s.result(a)
		require.Equal(t, test.red, r.Status == spec.StatusFailed, "%s: %+v", test.why, r.Error)
		require.Equal(t, test.sees, strings.Join(strings.Fields(r.Receipts[0].Tail), " "), test.why)
		require.Equal(t, spec.VerdictPass, r.Receipts[0].Verdict, "gates of a try share what they write")
	}
	left, err := os.ReadDir(filepath.Join(s.dir, "caches", "gates", "xdg"))
	require.NoError(t, err)
	require.Len(t, left, 2, "only the base commit writes the cache")
}

// A judge sees nothing of what agents have left in their cache, and leaves nothing.
func TestAJudgeReadsNoCacheOfAgents(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.work(nil, "tester", "mod")
	mod := s.assignment(spec.Role{Name: "mod", Executor: spec.ExecutorCommand, Writes: true, Command: []string{
		"sh", "-c", `touch "$XDG_CACHE_HOME/planted"; echo x >> a.txt`,
	}}, "t1")
	s.enqueue(mod)
	patch := s.result(mod).Patch
	require.NotNil(t, patch)
	for i := range 2 {
		a := s.assignment(spec.Role{Name: "tester", Executor: spec.ExecutorCommand, Command: []string{
			"sh", "-c", `git status >&2 && test -z "$(ls "$XDG_CACHE_HOME")" && touch "$XDG_CACHE_HOME/judged"`,
		}}, "t1--verify")
		a.Attempt, a.Head, a.Patch = i+1, patch.Commit, patch
		s.enqueue(a)
		r := s.result(a)
		require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
	}
}
