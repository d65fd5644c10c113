// Package trust lists what the files of a repository request beyond confined commands without network, and keeps a person's
// decision about that list outside the repository. Its input are the project file and the roles as loaded, its output the
// lines of the list, and whether the person agreed to exactly these. It never asks a person and runs nothing.
package trust

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
)

// openAI is where a model of provider openai without an address is served, and the variable with its key.
const (
	openAI    = "https://api.openai.com/v1"
	openAIKey = "OPENAI_API_KEY"
)

// Requests lists what a project file and the role files of the same repository request beyond confined commands without network:
// one sorted line each, complete, in printable ASCII. roles are the repository's own roles by name, neither built-in ones nor
// those that a person names. The texts decide whether a person is asked again: a change of their form asks everybody again.
func Requests(project *spec.Project, roles map[string]spec.Role) []string {
	var l list
	if len(project.Setup.Command) > 0 {
		l.addf("setup, with the network: %s", project.Setup.Command)
	}
	if project.Loopback {
		l.addf("setup reaches this machine's own addresses (loopback)")
	}
	if project.History == spec.HistoryFull {
		l.addf("history: agents see every file of the history of the base and its tags, also removed ones")
	}
	if project.Environment.Word != "" {
		l.addf("environment: every command sees all paths of your checkout that git ignores")
	}
	for _, name := range project.Environment.Paths {
		l.addf("environment: every command sees a copy of %s of your checkout, which git ignores", name)
	}
	for _, name := range project.Env {
		l.addf("env: every command sees your variable %s", name)
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

// Unconfined lists the commands of a project that are to run outside the sandbox, in lines as those of Requests.
func Unconfined(p *spec.Project) []string {
	var l list
	if len(p.Setup.Command) > 0 {
		l.addf("outside the sandbox, as you: setup: %s", p.Setup.Command)
	}
	for _, s := range p.Services {
		for _, command := range [][]string{s.Prepare, s.Command, s.Ready} {
			if len(command) > 0 {
				l.addf("outside the sandbox, as you: service %s: %s", s.Name, command)
			}
		}
	}
	for _, g := range p.Gates {
		l.addf("outside the sandbox, as you: gate %s: %s", g.Name, g.Command)
	}
	return l
}

type list []string

// addf makes a line; texts of the repository are shown by word.
func (l *list) addf(format string, texts ...any) {
	for i, text := range texts {
		switch text := text.(type) {
		case string:
			texts[i] = word(text)
		case []string:
			texts[i] = words(text)
		}
	}
	*l = append(*l, fmt.Sprintf(format, texts...))
}

// model lists an alias that is not served by Gemini at the person's own address: prompts go there, with or without a key.
func (l *list) model(alias string, m *spec.Model) {
	const to = "model %s: prompts with the repository's content go to %s, "
	switch {
	case m.Provider != spec.ProviderOpenAI && m.BaseURL == "" && m.KeyEnv == "":
	case m.BaseURL != "" && m.KeyEnv == "":
		l.addf(to+"without a key", alias, m.BaseURL)
	case m.BaseURL != "":
		l.addf(to+"with the key in your variable %s", alias, m.BaseURL, m.KeyEnv)
	default:
		l.addf(to+"with the key in your variable %s", alias, openAI, cmp.Or(m.KeyEnv, openAIKey))
	}
}

// servers lists the tool servers that are defined; owner names their role, and is empty for the project's.
func (l *list) servers(owner string, servers map[string]spec.MCPServer) {
	for name, m := range servers {
		var headers []string
		for _, header := range slices.Sorted(maps.Keys(m.Headers)) {
			headers = append(headers, header+"="+m.Headers[header])
		}
		switch server := "tool server %s" + owner; {
		case m.URL != "" && len(headers) > 0:
			l.addf(server+": calls go to %s, with headers from your variables %s", name, m.URL, headers)
		case m.URL != "":
			l.addf(server+": calls go to %s", name, m.URL)
		case len(m.Env) > 0:
			l.addf(server+", with your variables %s: %s", name, slices.Sorted(slices.Values(m.Env)), m.Command)
		case len(m.Command) > 0:
			l.addf(server+": %s", name, m.Command)
		}
	}
}

// role lists what a role of the repository may do. The gates run with the network of the role whose work they judge.
func (l *list) role(name string, r *spec.Role, gates []spec.Gate) {
	if spec.BuiltInRole(name) {
		l.addf("role %s replaces the built-in one", name)
	}
	if r.Loopback {
		l.addf("role %s: its commands with the network reach this machine's own addresses (loopback)", name)
	}
	l.servers(" of role "+word(name), r.MCPServers)
	if !r.Network {
		return
	}
	if len(r.Hosts) > 0 {
		l.addf("role %s: its command has the network to %s alone", name, r.Hosts)
	} else {
		l.addf("role %s: its commands, tool servers and gates have the network", name)
	}
	if len(r.Command) > 0 {
		l.addf("role %s, with the network: %s", name, r.Command)
	}
	for _, g := range gates {
		l.addf("gate %s, with the network where a role has it: %s", g.Name, g.Command)
	}
}

// Granted lists what role files that a program names, and not a person, request of a person: what Requests lists of a role of a
// repository, and the variables that their commands see. A role that requests neither has no line.
func Granted(roles map[string]spec.Role) []string {
	var l list
	for name, r := range roles {
		before := len(l)
		l.role(name, &r, nil)
		switch {
		case len(r.Secrets) > 0:
			l.addf("role %s, with your variables %s: %s", name, r.Secrets, r.Command)
		case len(l) > before && len(r.Command) > 0 && !r.Network:
			l.addf("role %s: %s", name, r.Command)
		}
	}
	slices.Sort(l)
	return slices.Compact(l)
}

func words(texts []string) string {
	shown := make([]string, 0, len(texts))
	for _, text := range texts {
		shown = append(shown, word(text))
	}
	return strings.Join(shown, " ")
}

var plain = lazyregexp.New(`^[A-Za-z0-9_./:=@%+-]+$`)

// word shows a text of the repository so that it cannot be taken for another one: whatever is not plain is quoted, and what a
// terminal obeys, what is not seen and what resembles a letter is escaped.
func word(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return strconv.QuoteToASCII(text)
}
