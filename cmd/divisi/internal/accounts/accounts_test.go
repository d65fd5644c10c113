package accounts

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus/member"
)

// Both formats have each permission of each role, in each space.
func TestBothFormatsHaveTheSamePermissions(t *testing.T) {
	t.Parallel()
	texts := map[string]string{Conf: "", NSC: ""}
	for format := range texts {
		text, err := (&Template{
			Format: format, Spaces: []string{"red", "blue"}, Workers: []string{"w1"}, Persons: []string{"p1"}, Viewers: []string{"v1"},
		}).Text()
		require.NoError(t, err)
		require.Contains(t, text, notDenied, format)
		texts[format] = text
	}
	spaces, nsc := []string{"red", "blue"}, texts[NSC]
	for role, name := range map[member.Role]string{member.Worker: "w1", member.Person: "p1", member.Viewer: "v1"} {
		p := member.OnCluster(role, name)
		for _, subject := range append(p.Publish.Allow, p.Subscribe.Allow...) {
			require.GreaterOrEqual(t, strings.Count(texts[Conf], `"`+subject+`"`), len(spaces), subject)
		}
		p = member.OnCluster(role, "{{name()}}")
		for _, list := range [][]string{p.Publish.Allow, p.Subscribe.Allow} {
			require.GreaterOrEqual(t, strings.Count(nsc, "'"+strings.Join(list, ",")+"'"), len(spaces), role)
		}
	}
	for _, space := range spaces {
		host := strings.Index(nsc, "nsc add user -a "+space+" -n host\n")
		require.Positive(t, host, space)
		require.Less(t, host, strings.Index(nsc, "nsc edit signing-key -a "+space), "a key of a role must not sign the host")
	}
}
