package project

import (
	"encoding/json"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/stretchr/testify/require"
)

var testEntry = map[string]any{"command": "/bin/divisi", "args": []any{"mcp", "--repo", "/a \"<b>\"\\'c"}}

// added requires that a text is another one with one insertion, so that every byte of it stays.
func added(t *testing.T, had, has string) {
	t.Helper()
	from := 0
	for from < len(had) && had[from] == has[from] {
		from++
	}
	end := 0
	for end < len(had)-from && had[len(had)-1-end] == has[len(has)-1-end] {
		end++
	}
	require.Equal(t, len(had), from+end, has)
}

func TestAnEntryIsPutIntoSettingsThatStay(t *testing.T) {
	t.Parallel()
	c := client{servers: "servers"}
	for _, had := range []string{
		"{}", "{}\n", "{ }", `{"a":1}`, `{"servers":{}}`, `{"servers": { "x": {"command": "y"} } }`, "\t{\n\t\"servers\": {\n\t}\n}",
		"// c\n{\n  // servers: {\n  \"a\": \"/* { \\\" // */\", /* \"servers\": {} */\n  \"servers\": { // here\n    \"x\": {},\n  },\n}\n",
		`{"x": {"servers": {"divisi": {}}}, "servers": {"a": {}}, "z": [1,2,],}`, `{"servers": {"a": {}}, "servers": {"b": {}}}`,
		"{\r\n  \"servers\": {\r\n  }\r\n}\r\n", `{"servers":{"x":{}},"ü` + "\xff" + `":"\u00e9"}`, "{// c\n}",
	} {
		has, _, err := c.addJSON([]byte(had), testEntry)
		require.NoError(t, err, had)
		added(t, had, string(has))
		var was, is map[string]any
		require.NoError(t, json.Unmarshal(uncommented([]byte(had)), &was))
		require.NoError(t, json.Unmarshal(uncommented(has), &is), string(has))
		servers, _ := was["servers"].(map[string]any)
		if servers == nil {
			servers = map[string]any{}
		}
		servers["divisi"], was["servers"] = testEntry, servers
		require.Equal(t, was, is, string(has))
		again, _, err := c.addJSON(has, testEntry)
		require.NoError(t, err)
		require.Equal(t, string(has), string(again))
	}
	for _, had := range []string{"", "\n \n"} {
		has, _, err := c.addJSON([]byte(had), testEntry)
		require.NoError(t, err)
		require.True(t, json.Valid(has))
	}
}

func TestATableIsAppendedToSettings(t *testing.T) {
	t.Parallel()
	c := client{servers: "mcp_servers"}
	for _, had := range []string{
		"", "a = 1", "a = 1 # c\n\n[mcp_servers.x]\ncommand = 'y'\n", "[mcp_servers]\n", "mcp_servers.x.command = 'y'\n", "[[a]]\nb = '''\n[mcp_servers.divisi]\n'''\n",
	} {
		has, _, err := c.addTOML([]byte(had), testEntry)
		require.NoError(t, err, had)
		require.Equal(t, had, string(has[:len(had)]))
		var was, is map[string]any
		require.NoError(t, toml.Unmarshal([]byte(had), &was))
		require.NoError(t, toml.Unmarshal(has, &is), string(has))
		own, _ := is["mcp_servers"].(map[string]any)
		require.Equal(t, testEntry, own["divisi"])
		delete(own, "divisi")
		again, _, err := c.addTOML(has, testEntry)
		require.NoError(t, err)
		require.Equal(t, string(has), string(again))
	}
}

func TestSettingsThatCannotBeReadAreRefusedWithTheirLine(t *testing.T) {
	t.Parallel()
	c := client{servers: "s"}
	for had, line := range map[string]int{
		"{\n  \"s\": {\n": 2, "{\n\"a\" 1}": 2, "[]": 1, "null": 1, "{}\n{}": 2, "\ufeff{}": 1, "{\n\"a\": \"x\n\"}": 2, "{}\n/* x": 2,
		"{\n\"s\":\n []}": 3, "{\n\"s\": {\"divisi\": {\"command\": \"other\"}}}": 2, "{\n\"s\":{\"divisi\": 3}}": 2, `{"s": null}`: 1, "<<<<<<< a\n{}": 1,
	} {
		has, at, err := c.addJSON([]byte(had), testEntry)
		require.Error(t, err, "%q: %s", had, has)
		require.Equal(t, line, at, had)
	}
	for had, line := range map[string]int{
		"a = 1\nb = \n": 2, "a = 1\n\ns = {x = {command = 'y'}}\n": 3, "\n[s.divisi]\ncommand = 'other'\n": 2, "s = 1\n": 1, "a = 1\na = 2\n": 2,
	} {
		_, at, err := c.addTOML([]byte(had), testEntry)
		require.Error(t, err, had)
		require.Equal(t, line, at, had)
	}
}
