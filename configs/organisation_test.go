package configs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

func TestOrganisationPresets(t *testing.T) {
	t.Parallel()
	o, err := ParseOrganisation("/etc/p.yaml", "variables: []\nmodels: [good-*]\npreset:\n  limits: {turns: 7, tokens: 9}\n"+
		"  setup: [make, deps]\n  models:\n    default: {name: good-a}\n    cheap: {name: good-b}\n")
	require.NoError(t, err)
	require.NotNil(t, o.Variables, "an empty list permits none")
	require.Nil(t, o.Network)
	text := "limits: {turns: 3}\nmodels:\n  default: {name: mine}\ngates: [{name: a, command: [b]}]\n"
	for range 2 { // what is preset is not what a file has read over it
		p, from, err := o.Project(&File{Name: "f.yaml", Text: text})
		require.NoError(t, err)
		require.Equal(t, 3, p.Limits.Turns)
		require.Equal(t, 9, p.Limits.Tokens)
		require.NotZero(t, p.Limits.Time, "the default")
		require.Equal(t, []string{"make", "deps"}, p.Setup.Command)
		require.Equal(t, "mine", p.Models["default"].Name)
		require.Equal(t, "good-b", p.Models["cheap"].Name)
		require.Contains(t, p.Models, "strong")
		require.Equal(t, map[string]string{
			"gates": "f.yaml:4", "limits.turns": "f.yaml:1", "models.default": "f.yaml:3", "setup": "/etc/p.yaml:5",
			"limits.tokens": "/etc/p.yaml:4", "models.cheap": "/etc/p.yaml:8",
		}, from)
	}
	p, from, err := o.Project(nil)
	require.NoError(t, err)
	require.Equal(t, "good-a", p.Models["default"].Name)
	require.Equal(t, "/etc/p.yaml:7", from["models.default"])
	p, from, err = (*Organisation)(nil).Project(nil)
	require.NoError(t, err)
	require.Empty(t, from)
	plain, err := DefaultProject()
	require.NoError(t, err)
	require.Equal(t, plain, p)
}

func TestOrganisationFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	o, err := ReadOrganisation(file)
	require.NoError(t, err)
	require.Nil(t, o)
	for want, text := range map[string]string{
		":2:1: unknown field \"forbids\"":             "network: []\nforbids: [services]\n",
		":1:10: forbid \"service\" is not one of":     "forbid: [service]\n",
		":1:11: \"a:1\": it is no name":               "network: [\"a:1\"]\n",
		":2:9: \"9\" is not a variable's name":        "preset:\n  env: [\"9\"]\n",
		":1:10: \"[\" is no name of a model":          "models: [\"[\"]\n",
		"A_KEY looks like a secret":                   "variables: [A_KEY]\n",
		":1:18: preset.limits is not a set of fields": "preset: {limits: 3}\n",
		"the file cannot be read: it is larger than":  strings.Repeat("# \n", 1<<19),
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := ReadOrganisation(file)
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, os.Remove(file))
	require.NoError(t, os.Mkdir(file, 0o700))
	_, err = ReadOrganisation(file)
	require.ErrorContains(t, err, "it is a directory")
}

func FuzzOrganisation(f *testing.F) {
	f.Add("network: [a]\npreset: {setup: [x], environment: checkout}\n")
	f.Add("preset:\n  models: {default: {fallback: [default]}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		o, err := ParseOrganisation("policy.yaml", text)
		if err != nil {
			return
		}
		_, _, err = o.Project(nil)
		require.NoError(t, err, "what it presets is a project")
		_ = spec.JSONText(o.Organisation)
	})
}
