package reports

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A wide command moves no comment of others, and its own comment stands as far from it as theirs.
func TestCommentsOfNextStepsStandApart(t *testing.T) {
	t.Parallel()
	wide := "git -C /" + strings.Repeat("d", maxAligned) + " merge divisi/r"
	var b strings.Builder
	Next(&b, []Way{{Command: "divisi show r", Why: "the whole\nreport"}, {Command: "divisi resume r", Why: "continue it"}, {Command: wide, Why: "take it"}}, 0)
	require.Equal(t, "  divisi show r     # the whole report\n  divisi resume r   # continue it\n  "+wide+"   # take it\n", b.String())
	b.Reset()
	Next(&b, []Way{{Command: "divisi show r", Why: "the whole report"}, {Command: "divisi resume r", Why: "continue it"}}, 36)
	require.Equal(t, "  # the whole report\n  divisi show r\n  # continue it\n  divisi resume r\n", b.String(), "a narrow terminal")
	b.Reset()
	Next(&b, []Way{{Command: wide, Why: "take it"}}, 0)
	require.Equal(t, "  "+wide+"   # take it\n", b.String())
}
