package rank_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/landing/rank"
)

func TestThePatchThatChangesWhatItsSiblingsDoNotIsTheMostLikely(t *testing.T) {
	t.Parallel()
	const wrong, named = "ddd", "fff"
	for name, c := range map[string]struct {
		patch func(id string) string // what it changes
		want  string
	}{
		"one changes more": {func(id string) string {
			if id == wrong {
				return "-x := get(a) == 1\n+x := header(a) != 1\n"
			}
			return "-x := get(a) == 1\n+x := header(a) == 1\n"
		}, wrong},
		"the names in it do not count": {func(id string) string {
			return fmt.Sprintf("-x := get(%s)\n+x := header(%s)\n", id, id)
		}, named},
		"what it moves does not count": {func(id string) string {
			if id == wrong {
				return "-unique here\n-y := get()\n+y := header()\n+unique here\n"
			}
			return "-x := get(a)\n+x := header(a)\n"
		}, named},
		"all differ": {func(id string) string { return "-x := " + id + "\n+x := " + id + id + "\n" }, named},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := rank.Evidence{Patches: map[string]string{}}
			var tasks []string
			for i := range 12 {
				id := strings.Repeat(string(rune('a'+i)), 3)
				tasks = append(tasks, id)
				e.Patches[id] = fmt.Sprintf("diff --git a/%s.go b/%s.go\n--- a/%s.go\n+++ b/%s.go\n@@ -1 +1 @@\n%s", id, id, id, id, c.patch(id))
			}
			odds := rank.Odds([]rank.Question{{Name: "Test of " + named, Files: []string{named + "_test.go"}}}, e, tasks)
			for _, id := range tasks {
				if id != c.want {
					require.Less(t, odds[id], odds[c.want], id)
				}
			}
		})
	}
}
