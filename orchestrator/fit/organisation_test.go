package fit

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/egress"
	"divisi/internal/spec"
)

func TestWhatAnOrganisationForbids(t *testing.T) {
	t.Parallel()
	p := spec.Project{
		Setup: spec.Setup{Command: []string{"make"}}, Env: []string{"LANG"}, Services: []spec.Service{{Name: "db"}},
		Models: map[string]spec.Model{
			"default": {Name: "good", Fallback: []string{"other"}}, "cheap": {Name: "good"}, "far": {Name: "good", BaseURL: "http://x.example/v1"},
		},
	}
	roles := map[string]spec.Role{
		"agent": {Name: "agent", Executor: spec.ExecutorModel}, "sed": {Name: "sed", Executor: spec.ExecutorCommand},
		"net": {Name: "net", Executor: spec.ExecutorCommand, Network: true},
		"far": {Name: "far", Executor: spec.ExecutorModel, Model: "far", Secrets: []string{"A_KEY"}},
	}
	for name, tt := range map[string]struct {
		o       spec.Organisation
		project []string
		roles   map[string][]string
	}{
		"nothing": {},
		"the network": {
			o: spec.Organisation{Network: []string{}}, project: []string{"a setup, which has the network (network)"},
			roles: map[string][]string{"net": {"the network (network)"}, "far": {"the model far at http://x.example/v1 (network)"}},
		},
		"but some hosts": {o: spec.Organisation{Network: []string{"*.example"}}},
		"variables":      {o: spec.Organisation{Variables: []string{}}, project: []string{"the variable LANG (variables)"}},
		"secrets": {
			o: spec.Organisation{Secrets: []string{}}, roles: map[string][]string{"far": {"the secret A_KEY (secrets)"}},
		},
		"models": {
			o: spec.Organisation{Models: []string{"g*"}}, roles: map[string][]string{"agent": {"the model other (models)"}},
		},
		"services": {o: spec.Organisation{Forbid: []string{spec.ForbidServices}}, project: []string{"services (forbid)"}},
	} {
		require.Equal(t, tt.project, Forbidden(&tt.o, &p), name)
		got := ForbiddenRoles(&tt.o, &p, roles)
		require.Len(t, got, len(tt.roles), name)
		for role, lacks := range tt.roles {
			require.Equal(t, lacks, got[role], name)
		}
	}
	require.Nil(t, Forbidden(nil, &p))
	require.Nil(t, ForbiddenRoles(nil, &p, roles))
}

// It names the file of this machine, and so runs alone.
func TestOwnGrants(t *testing.T) {
	was := OrganisationFile
	t.Cleanup(func() { OrganisationFile = was })
	OrganisationFile = filepath.Join(t.TempDir(), "policy.yaml")
	for text, want := range map[string]egress.Reach{"": nil, "network: []\n": {}, "network: [a.example]\n": {"a.example"}} {
		require.NoError(t, os.WriteFile(OrganisationFile, []byte(text), 0o600))
		grants, err := OwnGrants()
		require.NoError(t, err)
		require.Equal(t, want, grants.Reach, "nil is no limit, and an empty list nothing")
	}
	require.NoError(t, os.WriteFile(OrganisationFile, []byte("x: 1\n"), 0o600))
	_, err := OwnGrants()
	require.ErrorContains(t, err, "unknown field")
}
