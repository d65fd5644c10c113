package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTenPatchesArePlantedWhereTheSeedSays(t *testing.T) {
	t.Parallel()
	first, err := build(1, 300, 2)
	require.NoError(t, err)
	again, err := build(1, 300, 2)
	require.NoError(t, err)
	other, err := build(2, 300, 2)
	require.NoError(t, err)
	require.Equal(t, first.planted(), again.planted())
	require.NotEqual(t, first.planted(), other.planted())
	require.Len(t, first.planted(), 10)
	require.Len(t, first.shards, 300-len(briefs))
	kinds := map[string]bool{}
	for _, s := range first.planted() {
		kinds[s.Wrong] = true
		right, err := apply(first.files[s.Path], s.Right)
		require.NoError(t, err)
		require.NotEqual(t, right, s.First, s.Path)
	}
	require.Len(t, kinds, 10)
	_, err = build(1, 12, 2)
	require.ErrorContains(t, err, "too few")
}

func TestRulesFindEachFileOnce(t *testing.T) {
	t.Parallel()
	h, err := build(1, 60, 2)
	require.NoError(t, err)
	for _, name := range templates {
		kind, err := readTemplate(name)
		require.NoError(t, err)
		match := regexp.MustCompile(kind.match)
		for path, text := range h.files {
			if strings.HasPrefix(path, name+"/") {
				require.Equal(t, h.shards[path] != nil, match.MatchString(text), path)
			}
		}
		for _, s := range h.shards {
			if s.Template == name {
				require.False(t, match.MatchString(s.First), "something is left in %s", s.Path)
			}
		}
	}
}

func TestNoTestFindsWhatIsPlanted(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("go test of a repository takes long")
	}
	h, err := build(1, 18, 2)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, h.put(t.Context(), dir))
	for _, s := range h.shards {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "harbour", s.Path), []byte(s.First), 0o600))
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-skip", "TestTimer", "./...")
	cmd.Dir = filepath.Join(dir, "harbour")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestTheLogTellsHowThePersonFared(t *testing.T) {
	t.Parallel()
	begin := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	r := newRecord()
	add := func(pos int, after time.Duration, rest string) {
		line := fmt.Sprintf(`{"pos":%d,"time":%q,%s}`, pos, begin.Add(after).Format(time.RFC3339Nano), rest)
		require.NoError(t, r.add([]byte(line)))
	}
	const held = `"kind":"task","task":%q,"data":{"state":"held","doubt":{}}`
	const given = `"kind":"run","data":{"decision":{"about":%q,"answer":{"id":%q,"option":%q,"by":"user:ana"}}}`
	for i, task := range []string{"a", "b", "c"} {
		add(i+1, time.Duration(i)*time.Second, fmt.Sprintf(held, task))
	}
	add(4, 10*time.Second, fmt.Sprintf(given, "a", "a@1", "accept"))
	add(5, 10*time.Second+300*time.Millisecond, fmt.Sprintf(given, "b", "b@2", "accept"))
	add(6, 10*time.Second+400*time.Millisecond, fmt.Sprintf(given, "b", "b@2", "accept")) // the run has acted on it
	add(7, 5*time.Minute, fmt.Sprintf(given, "c", "c@3", "reject"))
	add(8, 6*time.Minute, `"kind":"plan","author":"user:ana","data":{"drop":{"tasks":["a"]}}`)
	require.Len(t, r.answered, 3)
	require.Equal(t, []string{"c"}, r.refused)
	require.Len(t, r.acts(), 3, "two were answered together")
	var out strings.Builder
	r.printAttention(&out)
	require.Contains(t, out.String(), "opened: 3; a person answered 3")
	require.Contains(t, out.String(), "are one): 3, 1 of them no answers")
	require.Contains(t, out.String(), "between them are one): 2\n")
	require.Contains(t, out.String(), "each decision: median 10s")
}
