package mcpserver

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"divisi/configs"
	"divisi/orchestrator/view"
	"divisi/orchestrator/view/advice"
)

// A client that reads nothing but the tools learns what a plan is, from an example that is one.
func TestAClientLearnsWhatAPlanIs(t *testing.T) {
	t.Parallel()
	s := served(t, newPlace(), true)
	for tool, err := range s.Tools(t.Context(), nil) {
		require.NoError(t, err)
		if tool.Name == "preview" {
			require.Contains(t, tool.Description, examplePlan)
		}
	}
	p, positions, err := configs.ParsePlan("p.yaml", examplePlan)
	require.NoError(t, err)
	require.NoError(t, positions.Error(nil))
	require.NotNil(t, p.Tasks[0].Shard)

	for kind := range schemas {
		r, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "divisi://schema/" + kind})
		require.NoError(t, err)
		want, err := json.Marshal(configs.Schema(kind))
		require.NoError(t, err)
		require.JSONEq(t, string(want), r.Contents[0].Text)
	}
}

func TestRolesAreThoseThatAPlanCanName(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	dir := filepath.Join(repo, ".divisi", "roles")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	file := "---\nname: mod\ndescription: Upper\u202e case\ncommand: [sed]\n---\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mod.md"), []byte(file), 0o600))
	for name, text := range map[string]string{"bad.md": "---\nname: bad\ntools: [nope]\n---\nDo.\n", "none.md": "Do.\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	o := newServer(newPlace(), false).opts
	o.Repo = repo
	out := answered[rolePage](t, connected(t, New(o)), "roles", page{})
	require.Len(t, out.Roles, out.Total)
	by := map[string]role{}
	for _, r := range out.Roles {
		by[r.Name] = r
	}
	require.Equal(t, "Upper\uFFFD case", by["mod"].Description)
	require.Equal(t, "command", by["mod"].Runs)
	require.True(t, by["mod"].Writes)
	require.Equal(t, "model", by["generator"].Runs)
	require.NotEmpty(t, by["generator"].Description)
	require.NotContains(t, by, "bad")
	require.Len(t, out.NotLoaded, 2)
	require.Contains(t, out.NotLoaded[0], `.divisi/roles/bad.md:3:9: there is no tool "nope"`)
	require.Contains(t, out.NotLoaded[1], ".divisi/roles/none.md:1:1: a role file begins with a line ---")
}

func TestAServerThatOnlyReadsTellsHowRunsAreStarted(t *testing.T) {
	t.Parallel()
	require.Contains(t, served(t, newPlace(), false).InitializeResult().Instructions, "act --now")
	require.NotContains(t, served(t, newPlace(), true).InitializeResult().Instructions, "act --now")
}

func TestAReportIsAResource(t *testing.T) {
	t.Parallel()
	p := newPlace()
	p.report = view.Report{Run: "r1", State: "done", Goal: "Greet \x1b[2J`*all*`", Repo: "/r", Next: []advice.Way{{Command: "divisi merge r1", Why: "take it"}}}
	s := served(t, p, false)
	list, err := s.ListResourceTemplates(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, list.ResourceTemplates, 1)
	require.Equal(t, "divisi://run/{run}/report", list.ResourceTemplates[0].URITemplate)
	r, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "divisi://run/r1/report"})
	require.NoError(t, err)
	require.Equal(t, "text/markdown", r.Contents[0].MIMEType)
	require.Contains(t, r.Contents[0].Text, "## Divisi: done\n")
	require.Contains(t, r.Contents[0].Text, "divisi --state-dir s merge r1")
	require.NotContains(t, r.Contents[0].Text, "\x1b")
	for _, run := range []string{"r2", "../r1", "r1/report"} {
		_, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "divisi://run/" + run + "/report"})
		require.Error(t, err, run)
	}
}
