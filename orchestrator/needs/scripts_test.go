package needs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheFileOfTheRepositoryThatACommandNeeds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want    string
		command []string
	}{
		{"tools/x", []string{"./tools/x", "{files}"}},
		{"tools/x.sh", []string{"tools/x.sh"}},
		{"x.sh", []string{"./x.sh"}},
		{"tools/x", []string{"env", "A=b", "./tools/x"}},
		{"tools/x.py", []string{"python3", "tools/x.py", "{files}"}},
		{"tools/x", []string{"python3.12", "./tools/x"}},
		{"x.py", []string{"/usr/bin/python3", "x.py"}},
		{"tools/x.mjs", []string{"env", "A=b", "node", "tools/x.mjs"}},
		{"tools/x", []string{"sh", "tools/x"}},
		{"x.rb", []string{"ruby", "x.rb"}},
		{"", nil},
		{"", []string{"x"}},
		{"", []string{"/bin/x"}},
		{"", []string{"../x"}},
		{"", []string{"./{file}"}},
		{"", []string{"sh", "-c", "tools/x.sh"}},
		{"", []string{"python3", "-m", "tools/x.py"}},
		{"", []string{"python3", "-", "tools/x.py"}},
		{"", []string{"python3", "../x.py"}},
		{"", []string{"python3", "{file}"}},
		{"", []string{"python3"}},
		{"", []string{"node", "tools/x"}}, // node looks for tools/x.js too
		{"", []string{"node", "inspect", "x.js"}},
		{"", []string{"sh", "x"}},
		{"", []string{"go", "run", "./tools/x"}},
		{"", []string{"sed", "s/a/b.py"}},
		{"", []string{"env", "-C", "tools", "./x.sh"}},
	} {
		require.Equal(t, c.want, Script(c.command), "%q", c.command)
	}
}
