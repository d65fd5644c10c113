package mcp

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"divisi/internal/spec"
)

// minSecret is how long a value is at least, in bytes, to be taken out of what a server says: shorter ones are words.
const minSecret = 8

// variables are the variables of Divisi's environment that a server gets.
type variables struct {
	env     []string
	headers http.Header
	hidden  *strings.Replacer
}

// CheckVariables returns, in the order of the servers' names, which of them name a variable that the environment lacks.
func CheckVariables(servers map[string]spec.MCPServer, environ []string) []error {
	var missing []error
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		def := servers[name]
		if _, err := variablesOf(name, &def, environ); err != nil {
			missing = append(missing, err)
		}
	}
	return missing
}

// variablesOf looks up what the definition names. A variable that is not there is an error: the server needs it.
func variablesOf(server string, def *spec.MCPServer, environ []string) (variables, error) {
	values := map[string]string{}
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok {
			values[name] = value
		}
	}
	v := variables{headers: http.Header{}}
	var missing, hide []string
	look := func(name string) string {
		value, ok := values[name]
		if !ok {
			missing = append(missing, name)
		}
		if len(value) >= minSecret {
			hide = append(hide, value, "["+name+"]")
		}
		return value
	}
	for _, name := range def.Env {
		v.env = append(v.env, name+"="+look(name))
	}
	for _, header := range slices.Sorted(maps.Keys(def.Headers)) {
		v.headers.Set(header, look(def.Headers[header]))
	}
	if len(missing) > 0 {
		return v, fmt.Errorf("the MCP server %s needs %s, which is not set in Divisi's environment: set it before you start "+
			"Divisi, or take it out of the server's definition", server, strings.Join(missing, ", "))
	}
	v.hidden = strings.NewReplacer(hide...)
	return v, nil
}

// hide takes the values out of a text: what a server was given is for it alone.
func (v *variables) hide(text string) string { return v.hidden.Replace(text) }
