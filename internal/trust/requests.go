package trust

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"divisi/internal/spec"
)

// openAI is where a model of provider openai without an address is served, and the variable with its key.
const (
	openAI    = "https://api.openai.com/v1"
	openAIKey = "OPENAI_API_KEY"
)

// Requests lists what a project file and the role files of the same repository request beyond confined commands without network:
// one sorted line each, complete, in printable ASCII. roles are the repository's own roles by name, neither built-in ones nor those
// that a person names. The texts decide whether a person is asked again, so that a change of their form asks everybody again.
func Requests(project *spec.Project, roles map[string]spec.Role) []string {
	var l list
	if len(project.Setup) > 0 {
		l.add("setup, with the network: %s", command(project.Setup))
	}
	if project.Loopback {
		l.add("setup reaches this machine's own addresses (loopback)")
	}
	for _, name := range project.Env {
		l.add("env: every command sees your variable %s", word(name))
	}
	for alias, m := range project.Models {
		l.model(alias, &m)
	}
	l.servers("", project.MCPServers)
	for name, role := range roles {
		l.role(name, &role, project.Gates)
	}
	slices.Sort(l)
	return slices.Compact(l)
}

type list []string

func (l *list) add(format string, args ...any) { *l = append(*l, fmt.Sprintf(format, args...)) }

// model lists an alias that is served elsewhere than at Gemini's: prompts go there, with or without a key.
func (l *list) model(alias string, m *spec.Model) {
	if m.Provider != spec.ProviderOpenAI && m.BaseURL == "" && m.KeyEnv == "" {
		return
	}
	key := m.KeyEnv
	if m.BaseURL == "" {
		key = cmp.Or(key, openAIKey)
	}
	with := "without a key"
	if key != "" {
		with = "with the key in your variable " + word(key)
	}
	l.add("model %s: prompts with the repository's content go to %s, %s", word(alias), word(cmp.Or(m.BaseURL, openAI)), with)
}

// servers lists the tool servers that are defined; owner says of which role, and is empty for the project's.
func (l *list) servers(owner string, servers map[string]spec.MCPServer) {
	for name, m := range servers {
		switch {
		case m.URL != "":
			l.add("tool server %s%s: calls go to %s%s", word(name), owner, word(m.URL), headers(m.Headers))
		case len(m.Command) > 0 && len(m.Env) > 0:
			l.add("tool server %s%s, with your variables %s: %s", word(name), owner, command(slices.Sorted(slices.Values(m.Env))),
				command(m.Command))
		case len(m.Command) > 0:
			l.add("tool server %s%s: %s", word(name), owner, command(m.Command))
		}
	}
}

func headers(headers map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		fmt.Fprintf(&b, ", with the header %s from your variable %s", word(name), word(headers[name]))
	}
	return b.String()
}

// role lists what a role of the repository may do. The gates run with the network of the role whose work they judge.
func (l *list) role(name string, r *spec.Role, gates []spec.Gate) {
	if spec.BuiltInRole(name) {
		l.add("role %s replaces the built-in one", word(name))
	}
	if r.Loopback {
		l.add("role %s: its commands with the network reach this machine's own addresses (loopback)", word(name))
	}
	l.servers(" of role "+word(name), r.MCPServers)
	if !r.Network {
		return
	}
	l.add("role %s: its commands, tool servers and gates have the network", word(name))
	if len(r.Command) > 0 {
		l.add("role %s, with the network: %s", word(name), command(r.Command))
	}
	for _, g := range gates {
		l.add("gate %s, with the network where a role has it: %s", word(g.Name), command(g.Command))
	}
}

func command(args []string) string {
	words := make([]string, 0, len(args))
	for _, arg := range args {
		words = append(words, word(arg))
	}
	return strings.Join(words, " ")
}

var plain = regexp.MustCompile(`^[A-Za-z0-9_./:=@%+-]+$`)

// word shows a text of the repository so that it cannot be taken for another one: whatever is not plain is quoted, and what a
// terminal obeys, what is not seen and what resembles a letter is escaped.
func word(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return strconv.QuoteToASCII(text)
}
