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
	Next(&b, []Way{{Command: "divisi show r", Why: "the whole\nreport"}, {Command: "divisi resume r", Why: "continue it"}, {Command: wide, Why: "take it"}})
	require.Equal(t, "  divisi show r     # the whole report\n  divisi resume r   # continue it\n  "+wide+"   # take it\n", b.String())
	b.Reset()
	Next(&b, []Way{{Command: wide, Why: "take it"}})
	require.Equal(t, "  "+wide+"   # take it\n", b.String())
}
