package project

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/stretchr/testify/require"
)

// put is a text with the insertion of an entry.
func put(had string, into func([]byte, map[string]any) (int, string, error)) (string, error) {
	at, add, err := fitting([]byte(had), testEntry, into)
	return had[:at] + add + had[at:], err
}

// lineOf is the line of an error, for a text.
func lineOf(had string, into func([]byte, map[string]any) (int, string, error)) (int, error) {
	at, _, err := into([]byte(had), testEntry)
	return 1 + strings.Count(had[:at], "\n"), err
}

var testEntry = map[string]any{"command": "/bin/divisi", "args": []any{"mcp", "--repo", "/a \"<b>\"\\'c"}}

func TestAnEntryIsPutIntoSettingsThatStay(t *testing.T) {
	t.Parallel()
	c := client{servers: "servers"}
	for _, had := range []string{
		"{}", "{}\n", "{ }", `{"a":1}`, `{"servers":{}}`, `{"servers": { "x": {"command": "y"} } }`, "\t{\n\t\"servers\": {\n\t}\n}",
		"// c\n{\n  // servers: {\n  \"a\": \"/* { \\\" // */\", /* \"servers\": {} */\n  \"servers\": { // here\n    \"x\": {},\n  },\n}\n",
		`{"x": {"servers": {"divisi": {}}}, "servers": {"a": {}}, "z": [1,2,],}`, `{"servers": {"a": {}}, "servers": {"b": {}}}`,
		"{\r\n  \"servers\": {\r\n  }\r\n}\r\n", `{"servers":{"x":{}},"ü` + "\xff" + `":"\u00e9"}`, "{// c\n}",
	} {
		has, err := put(had, c.intoJSON)
		require.NoError(t, err, had)
		var was, is map[string]any
		require.NoError(t, json.Unmarshal(uncommented([]byte(had)), &was))
		require.NoError(t, json.Unmarshal(uncommented([]byte(has)), &is), has)
		servers, _ := was["servers"].(map[string]any)
		if servers == nil {
			servers = map[string]any{}
		}
		servers["divisi"], was["servers"] = testEntry, servers
		require.Equal(t, was, is, has)
		again, err := put(has, c.intoJSON)
		require.NoError(t, err)
		require.Equal(t, has, again)
	}
	for _, had := range []string{"", "\n \n", "// mine", "// mine\n", "/* mine */ ", "\ufeff// mine\r\n"} {
		has, err := put(had, c.intoJSON)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(has, had))
		require.True(t, json.Valid(uncommented([]byte(strings.TrimPrefix(has, "\ufeff")))), has)
	}
}

// A mark of the byte order stays the first, and every line ends as those of the file.
func TestAnEntryKeepsTheFormOfTheFile(t *testing.T) {
	t.Parallel()
	c := client{servers: "servers"}
	for had, into := range map[string]func([]byte, map[string]any) (int, string, error){
		"\ufeff{\r\n  \"a\": 1\r\n}\r\n": c.intoJSON, "\ufeffa = 1\r\n": c.intoTOML,
	} {
		has, err := put(had, into)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(has, "\ufeff"))
		require.Equal(t, 1, strings.Count(has, "\ufeff"))
		require.NotContains(t, strings.ReplaceAll(has, "\r\n", ""), "\n", has)
		again, err := put(has, into)
		require.NoError(t, err)
		require.Equal(t, has, again)
	}
}

func TestATableIsAppendedToSettings(t *testing.T) {
	t.Parallel()
	c := client{servers: "mcp_servers"}
	for _, had := range []string{
		"", "a = 1", "a = 1 # c\n\n[mcp_servers.x]\ncommand = 'y'\n", "[mcp_servers]\n", "mcp_servers.x.command = 'y'\n", "[[a]]\nb = '''\n[mcp_servers.divisi]\n'''\n",
	} {
		has, err := put(had, c.intoTOML)
		require.NoError(t, err, had)
		require.Equal(t, had, has[:len(had)])
		var was, is map[string]any
		require.NoError(t, toml.Unmarshal([]byte(had), &was))
		require.NoError(t, toml.Unmarshal([]byte(has), &is), has)
		own, _ := is["mcp_servers"].(map[string]any)
		require.Equal(t, testEntry, own["divisi"])
		delete(own, "divisi")
		again, err := put(has, c.intoTOML)
		require.NoError(t, err)
		require.Equal(t, has, again)
	}
}

func TestSettingsThatCannotBeReadAreRefusedWithTheirLine(t *testing.T) {
	t.Parallel()
	c := client{servers: "s"}
	for had, line := range map[string]int{
		"{\n  \"s\": {\n": 2, "{\n\"a\" 1}": 2, "[]": 1, "null": 1, "{}\n{}": 2, "\ufeff{}": 1, "{\n\"a\": \"x\n\"}": 2, "{}\n/* x": 2,
		"{\n\"s\":\n []}": 3, "{\n\"s\": {\"divisi\": {\"command\": \"other\"}}}": 2, "{\n\"s\":{\"divisi\": 3}}": 2, `{"s": null}`: 1, "<<<<<<< a\n{}": 1,
	} {
		at, err := lineOf(had, c.intoJSON)
		require.Error(t, err, had)
		require.Equal(t, line, at, had)
	}
	for had, line := range map[string]int{
		"a = 1\nb = \n": 2, "a = 1\n\ns = {x = {command = 'y'}}\n": 3, "\n[s.divisi]\ncommand = 'other'\n": 2, "s = 1\n": 1, "a = 1\na = 2\n": 2,
	} {
		at, err := lineOf(had, c.intoTOML)
		require.Error(t, err, had)
		require.Equal(t, line, at, had)
	}
}
