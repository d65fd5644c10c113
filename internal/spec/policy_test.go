package spec

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPolicyValidate(t *testing.T) {
	t.Parallel()
	key := "U" + strings.Repeat("A", 55)
	good := Policy{
		Repositories: []string{"app", "service-*"}, People: map[string]string{"ada": key}, Roles: []string{"fixer"}, Only: OnlyGenerators,
		Secrets: []string{"NPM_TOKEN"}, Variables: []string{"LANG"},
		Network: []string{"*", "localhost", "a.example", "*.b.example", "10.2.0.0/16", "10.1.1.1", "fd00::/8", "fd00::1"},
	}
	require.Empty(t, good.Validate())
	for want, p := range map[string]Policy{
		`repositories[0]: "a/b" is no name`:               {Repositories: []string{"a/b"}},
		`repositories[0]: "[" is no name`:                 {Repositories: []string{"["}},
		`people.ada: "SECRET" is no public key`:           {People: map[string]string{"ada": "SECRET"}},
		`secrets[0]: "A-B" is not a variable's name`:      {Secrets: []string{"A-B"}},
		`variables[0]: API_TOKEN looks like a secret`:     {Variables: []string{"API_TOKEN"}},
		`network[0]: "10.2.1.0/16": it is no range`:       {Network: []string{"10.2.1.0/16"}},
		`network[0]: "https://a.example": it is no range`: {Network: []string{"https://a.example"}},
		`network[0]: "a.example:443": it is no name`:      {Network: []string{"a.example:443"}},
		`network[0]: "a*.example": it is no name`:         {Network: []string{"a*.example"}},
		`only: only: gates and roles exclude`:             {Only: OnlyGates, Roles: []string{"fixer"}},
	} {
		list := p.Validate()
		require.Len(t, list, 1, want)
		require.Contains(t, list[0].String(), want)
	}
}
