package dashboard

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
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
	for verb := range verbs {
		require.Contains(t, string(data), verb)
	}
}
