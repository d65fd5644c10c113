package pull

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func part(task, key, files, after string) Part {
	list := strings.Fields
	return Part{Task: task, Commit: "c" + task, Keys: list(key), Files: list(files), After: list(after)}
}

func shown(groups []Group) (lines []string) {
	for _, g := range groups {
		lines = append(lines, fmt.Sprintf("%s: %s needs %v below %d", g.Name, strings.Join(g.Tasks(), " "), g.Needs, g.Below))
	}
	return lines
}

// Change sets stay whole, groups that need each other are one, and what needs one other group is stacked on it.
func TestGroups(t *testing.T) {
	t.Parallel()
	set := func(p Part) Part { p.Set = "s"; return p }
	for name, c := range map[string]struct {
		parts []Part
		want  []string
	}{
		"apart": {
			[]Part{part("a", "x", "1", ""), part("b", "y", "2", ""), part("c", "x", "3", "")},
			[]string{"x: a c needs [] below -1", "y: b needs [] below -1"},
		},
		"several owners": {
			[]Part{part("a", "y x y", "1", ""), part("b", "x", "2", "")},
			[]string{"x+y: a needs [] below -1", "x: b needs [] below -1"},
		},
		"a change set": {
			[]Part{set(part("a", "x", "1", "")), set(part("b", "y", "2", "")), part("c", "x", "3", "")},
			[]string{"x+y: a b needs [] below -1", "x: c needs [] below -1"},
		},
		"one commit": {
			[]Part{{Task: "a", Commit: "1", Keys: []string{"x"}}, {Task: "b", Commit: "1", Keys: []string{"y"}}},
			[]string{"x+y: a b needs [] below -1"},
		},
		"stacked, by a dependency and by a file": {
			[]Part{part("a", "x", "1", ""), part("b", "y", "2", "a"), part("c", "z", "2", "")},
			[]string{"x: a needs [] below -1", "y: b needs [0] below 0", "z: c needs [0 1] below 1"},
		},
		"on two that are apart": {
			[]Part{part("a", "x", "1", ""), part("b", "y", "2", ""), part("c", "z", "3", "a b")},
			[]string{"x: a needs [] below -1", "y: b needs [] below -1", "z: c needs [0 1] below -1"},
		},
		"in a ring": {
			[]Part{part("a", "x", "1", ""), part("b", "y", "1", ""), part("c", "x", "2", "b"), part("d", "z", "2", "")},
			[]string{"x+y: a b c needs [] below -1", "z: d needs [0] below 0"},
		},
		"a later one first in its group": {
			[]Part{part("a", "x", "1", ""), part("b", "y", "2", ""), part("c", "x", "3", "b")},
			[]string{"y: b needs [] below -1", "x: a c needs [0] below 0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, shown(Groups(c.parts)))
		})
	}
}

// Two names never make one branch, whatever is in them.
func TestHeadsAreNames(t *testing.T) {
	t.Parallel()
	var groups []Group
	for _, name := range []string{"@org/Team-a", "@org-team/a", "../..lock", "é", strings.Repeat("x/", 99)} {
		groups = append(groups, Group{Name: name})
	}
	heads := Heads("divisi/r", groups)
	require.Regexp(t, `^divisi/r-org-Team-a-[0-9a-f]{12}$`, heads[0])
	require.Regexp(t, `^divisi/r-org-team-a-[0-9a-f]{12}$`, heads[1])
	require.Equal(t, "divisi/r-lock", heads[2])
	require.Regexp(t, `^divisi/r-[0-9a-f]{12}$`, heads[3])
	require.Len(t, heads[4], len("divisi/r-")+maxSlug-1)
}
