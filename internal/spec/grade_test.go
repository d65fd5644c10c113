package spec

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUnreadOf(t *testing.T) {
	t.Parallel()
	r := Receipt{Unread: []Unread{{Path: "a", Grade: GradeUnread, Reason: "x"}, {Path: "c", Grade: GradeUnknown}}}
	require.Equal(t, "x", r.UnreadOf("a").Reason)
	require.Nil(t, r.UnreadOf("b"))
	require.Nil(t, r.UnreadOf("d"))
	r.UnreadRest = 7
	require.Nil(t, r.UnreadOf("b"))
	require.Equal(t, GradeUnknown, r.UnreadOf("d").Grade, "what is beyond the bound is not read")
	require.Contains(t, r.UnreadOf("d").Reason, "9 files")
}

// Names that are no text of JSON come back as they were.
func TestUnreadNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a.go", "b\xff.go", `"quoted".go`, "c\n.go"} {
		data, err := json.Marshal(Receipt{Unread: []Unread{{Path: name, Source: true}}})
		require.NoError(t, err)
		var r Receipt
		require.NoError(t, json.Unmarshal(data, &r))
		require.Equal(t, name, r.Unread[0].Path)
		require.True(t, r.Unread[0].Source)
	}
}

func TestUnreadProblems(t *testing.T) {
	t.Parallel()
	for want, unread := range map[string][]Unread{
		"":           {{Path: "a", Grade: GradeUnread}, {Path: "b/c", Grade: GradeUnknown}},
		"not sorted": {{Path: "b"}, {Path: "a"}},
		"grade":      {{Path: "a", Grade: "fine"}},
		"../x":       {{Path: "../x"}},
		"more than":  make([]Unread, MaxUnread+1),
	} {
		v := &problems{}
		r := Receipt{Gate: "g", Verdict: VerdictPass, Unread: unread}
		r.problems(v, "receipts[0]")
		if want == "" {
			require.Empty(t, v.list)
			continue
		}
		require.NotEmpty(t, v.list, want)
		require.Contains(t, (&PlanError{v.list}).Error(), want)
	}
}
