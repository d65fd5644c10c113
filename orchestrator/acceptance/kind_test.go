package acceptance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

func TestRemovalsFromIgnoredPlacesAreAskedAbout(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		task spec.Task
		want []string
	}{
		"a rename":           {spec.Task{Brief: "rename old to new", Files: []string{"gen/**"}}, []string{"gen/old.txt"}},
		"a removal":          {spec.Task{Brief: "remove the old file", Files: []string{"gen/old.txt"}}, nil},
		"of another file":    {spec.Task{Brief: "remove the old file", Files: []string{"gen/**"}}, []string{"gen/old.txt"}},
		"named, but renamed": {spec.Task{Brief: "rename it", Files: []string{"gen/old.txt"}}, []string{"gen/old.txt"}},
	} {
		v := Check(&Patch{
			Task: &tt.task, Changes: []Change{{Path: "gen/old.txt", Before: []byte("x\n")}}, Lost: []string{"gen/old.txt"},
		})
		var asked []string
		for _, f := range v.Findings {
			if f.Check == "kind" {
				asked = append(asked, f.Path)
			}
		}
		require.Equal(t, tt.want, asked, name)
	}
}
