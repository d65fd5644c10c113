package dashboard

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/act"
)

// The description for programs has each address that there is, and no other.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/openapi.yaml")
	require.NoError(t, err)
	var described struct {
		Servers []struct {
			URL string
		}
		Paths map[string]map[string]any
	}
	require.NoError(t, yaml.Unmarshal(data, &described))
	require.Equal(t, prefix, described.Servers[0].URL)
	var addresses []string
	for path, methods := range described.Paths {
		for method := range methods {
			if method != "parameters" {
				addresses = append(addresses, strings.ToUpper(method)+" "+path)
			}
		}
	}
	s, err := New(options(newLog()))
	require.NoError(t, err)
	require.ElementsMatch(t, slices.Collect(maps.Keys(s.api())), addresses)

	by, had, found := strings.Cut(string(data), generated)
	require.True(t, found)
	if *update {
		require.NoError(t, os.WriteFile("../../docs/openapi.yaml", []byte(by+generated+schemas(t)), 0o600))
		return
	}
	require.Equal(t, schemas(t), had, "write it anew: go test ./orchestrator/dashboard -run TestOpenAPI -update")
}

var update = flag.Bool("update", false, "write what is sent to act into docs/openapi.yaml anew")

// generated begins what of the description is made of the table of acts.
const generated = "    # From here on it is generated: go test ./orchestrator/dashboard -run TestOpenAPI -update\n"

// schemas are those of what a browser sends to act, and to answer a decision.
func schemas(t *testing.T) string {
	t.Helper()
	verb := &jsonschema.Schema{}
	for _, e := range act.All() {
		if e.Doors&act.API != 0 && e.Schema().Properties[ofDecision] == nil {
			verb.Enum = append(verb.Enum, e.Name)
		}
	}
	acts := fields(false)
	acts["verb"] = verb
	var b strings.Builder
	for _, s := range []struct {
		name, required string
		of             map[string]*jsonschema.Schema
	}{{"Act", "verb", acts}, {"Answer", "option", fields(true)}} {
		fmt.Fprintf(&b, "    %s:\n      type: object\n      required: [%s]\n      properties:\n", s.name, s.required)
		for _, name := range slices.Sorted(maps.Keys(s.of)) {
			text, err := spec.JSON(s.of[name])
			require.NoError(t, err)
			fmt.Fprintf(&b, "        %s: %s\n", name, text)
		}
	}
	return b.String()
}
