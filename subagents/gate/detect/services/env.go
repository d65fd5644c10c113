package services

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
)

var variable = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// env are the variables that tell gates of a service: those with a name of its kind, and those whose values name it. left are
// those that no command may see, or whose values are expressions.
func (p *proposer) env(g group, a asked, k *kind) (env map[string]string, left []string) {
	env = map[string]string{}
	all := maps.Clone(g.env)
	merge(all, a.own)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !variable.MatchString(name) || p.vars[name] || name == "PGDATA" {
			continue
		}
		value, ok := literal(all[name])
		there := a.reach(name, value)
		switch {
		case !k.names.MatchString(name) && there == value && !a.here(value):
		case !ok || spec.SecretName(name):
			left = append(left, name)
		default:
			env[name] = there
		}
	}
	return env, left
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// withDefault matches ${NAME:-value} and ${NAME-value}.
var withDefault = lazyregexp.New(`\$\{[A-Za-z_][A-Za-z0-9_]*:?-([^${}]*)\}`)

// resolve replaces variables with their defaults.
func resolve(s string) string { return withDefault.ReplaceAllString(s, "$1") }

// maxValue bounds a value, in bytes.
const maxValue = 2000

// literal is a variable's value; false for an expression and for what is no value.
func literal(v any) (string, bool) {
	switch v := v.(type) {
	case map[string]any: // of GitLab
		if s, is := v["value"].(string); is {
			return literal(s)
		}
	case string:
		s := resolve(v)
		return s, !strings.Contains(s, "$") && len(s) <= maxValue && strings.IndexFunc(s, unprintable) < 0
	case int, float64, bool:
		return fmt.Sprint(v), true
	}
	return "", false
}

var hostName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// reach has a value name this machine in place of a service's host, and the port on it.
func (a *asked) reach(name, value string) string {
	outer := strconv.Itoa(a.port.outer)
	for _, host := range a.hosts {
		if !hostName.MatchString(host) {
			continue
		}
		if value == host && strings.Contains(strings.ToUpper(name), "HOST") {
			return "127.0.0.1"
		}
		at := regexp.MustCompile(`(^|//|@|,)` + regexp.QuoteMeta(host) + `(:[0-9]+)?($|[/?,])`)
		value = at.ReplaceAllStringFunc(value, func(found string) string {
			m := at.FindStringSubmatch(found)
			if m[2] == "" && (m[1] == "" || m[1] == ",") {
				return found
			}
			return m[1] + "127.0.0.1:" + outer + m[3]
		})
	}
	if value == strconv.Itoa(a.port.inner) && strings.HasSuffix(strings.ToUpper(name), "PORT") {
		return outer
	}
	return value
}

// here reports whether a value names the port of the service on this machine.
func (a *asked) here(value string) bool {
	for _, host := range []string{"localhost", "127.0.0.1"} {
		_, after, named := strings.Cut(value, host+":"+strconv.Itoa(a.port.outer))
		if named && (after == "" || after[0] < '0' || after[0] > '9') {
			return true
		}
	}
	return false
}
