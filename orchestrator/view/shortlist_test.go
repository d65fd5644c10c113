package view

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestThreeWaysAreShown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ ways, want []string }{
		"few": {[]string{"divisi resume r", "divisi show r"}, []string{"divisi resume r", "divisi show r"}},
		"parked tasks, and what landed": {
			[]string{
				"divisi log r/a", "divisi diff r/a", `divisi retry r a --brief "BRIEF"`, "divisi take r/a DIR", "divisi skip r a",
				"divisi log r/b", `divisi retry r b --brief "BRIEF"`, "divisi skip r b",
				"divisi retry r", "git -C /repo merge divisi/r", "git -C /repo diff --stat b1 divisi/r", "divisi show r",
			},
			[]string{"divisi log r/a", "divisi retry r", "git -C /repo merge divisi/r"},
		},
		"one parked task": {
			[]string{"divisi log r/a", "divisi diff r/a", "divisi retry r a --role ROLE", "divisi take r/a DIR", "divisi skip r a", "divisi show r"},
			[]string{"divisi log r/a", "divisi retry r a --role ROLE", "divisi diff r/a"},
		},
		"a decision before it goes on": {
			[]string{"divisi decide r", "divisi resume r", "git -C /repo merge divisi/r", "git -C /repo diff --stat b1 divisi/r", "divisi show r"},
			[]string{"divisi decide r", "divisi resume r", "git -C /repo merge divisi/r"},
		},
		"notes before the whole report": {
			[]string{"git -C /repo merge divisi/r", "git -C /repo diff --stat b1 divisi/r", "divisi show r", "divisi memory proposals --repo /repo"},
			[]string{"git -C /repo merge divisi/r", "git -C /repo diff --stat b1 divisi/r", "divisi memory proposals --repo /repo"},
		},
	} {
		var ways []Way
		for _, command := range c.ways {
			ways = append(ways, Way{Command: command})
		}
		require.Equal(t, c.want, commands(Shortlist(ways)), name)
	}
}
