package run

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
)

// What is merged is what the forge says of the head branch: a commit that was announced and not pushed is still to be merged.
// What a
// person pushed on top of it has it.
func TestWhatAPullRequestWasMergedWith(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		newest, head, merged string
	}{
		"pushed":            {"c1", "c1", "c1"},
		"announced":         {"c2", "c1", "c1"},
		"not known yet":     {"c2", "c2", "c2"},
		"a person's on top": {"c1", "p1", "c1"},
		"no head told":      {"c1", "", "c1"},
	} {
		s := NewState()
		for _, d := range []PullData{
			{Head: "h", Commit: "c1", Doing: PullPush},
			{Head: "h", HeadSHA: "c1"},
			{Head: "h", Number: 1, State: PullStateOpen},
			{Head: "h", Theirs: []string{"p1"}},
			{Head: "h", Commit: of.newest, Doing: PullPush},
			{Head: "h", HeadSHA: of.head, State: PullStateMerged},
		} {
			data, err := json.Marshal(d)
			require.NoError(t, err)
			require.NoError(t, s.Apply(&contextscope.Event{Pos: s.Pos + 1, Kind: contextscope.KindPull, Data: data}))
		}
		require.True(t, s.Pulls["h"].EndedWith(of.merged), name)
		require.Equal(t, of.newest == of.merged, s.Pulls["h"].EndedWith(of.newest), name)
	}
}

// A write is noted before it begins, and its answer ends it; what is not set stays.
func TestPullsAreFoldedFromTheirEvents(t *testing.T) {
	t.Parallel()
	s, at := NewState(), time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
	note := func(d PullData) error {
		data, err := json.Marshal(d)
		require.NoError(t, err)
		at = at.Add(time.Minute)
		return s.Apply(&contextscope.Event{Pos: s.Pos + 1, Kind: contextscope.KindPull, Time: at, Data: data})
	}
	require.Nil(t, s.Pulls.Of("a"))
	require.ErrorContains(t, note(PullData{Number: 1}), "names its head branch")

	first := PullData{Head: "divisi/r", Base: "main", Tasks: []string{"a", "b"}, Commit: "c1", Tree: "t1", Doing: PullPush}
	require.NoError(t, note(first))
	p := s.Pulls["divisi/r"]
	require.Equal(t, PullPush, p.Doing)
	require.True(t, p.Asked.IsZero() && p.Ours["c1"] && !p.Opened())
	require.Same(t, p, s.Pulls.Of("b"))

	require.NoError(t, note(PullData{Head: "divisi/r", HeadSHA: "c1"}))
	require.Empty(t, p.Doing)
	require.NoError(t, note(PullData{Head: "divisi/r", Doing: PullOpen}))
	asked := p.Asked
	require.Equal(t, at, asked)
	require.NoError(t, note(PullData{Head: "divisi/r", Number: 7, URL: "u", State: PullStateOpen, Theirs: []string{"c2"}}))
	require.Equal(t, at, p.Asked)
	asked = at
	require.NoError(t, note(PullData{Head: "divisi/r", Doing: PullOpen}))
	require.Equal(t, asked, p.Asked)
	require.True(t, p.Opened() && p.Ours["c2"])
	require.Equal(t, "main", p.Base)

	require.NoError(t, note(PullData{Head: "divisi/r", Mark: &PullMark{ID: "comment 1", Did: "task", Task: "x"}}))
	require.True(t, p.Marked("comment 1"))
	require.Equal(t, at, p.Marks["comment 1"].Time)
	require.NoError(t, note(PullData{Head: "divisi/r", State: PullStateClosed, Reason: "by ann"}))
	require.Nil(t, s.Pulls.Of("a"))

	require.NoError(t, note(PullData{Head: "divisi/r-1", Tasks: []string{"a"}, Below: "divisi/r"}))
	require.Equal(t, []string{"divisi/r", "divisi/r-1"}, []string{s.Pulls.List()[0].Head, s.Pulls.List()[1].Head})
	require.Same(t, s.Pulls["divisi/r-1"], s.Pulls.Of("a"))
}
