package ci

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"divisi/internal/lazyregexp"
)

// maxCombinations bounds those of one matrix.
const maxCombinations = 256

// combinations are those of a matrix, at least one, with the values of a mapping as name.key.
func combinations(matrix node) []map[string]string {
	all := []map[string]string{{}}
	for name, axis := range matrix.fields() {
		if name != "include" && name != "exclude" && axis.is(yaml.SequenceNode) && len(axis.n.Content) > 0 {
			all = product(all, name, axis.items())
		}
	}
	for _, out := range matrix.get("exclude").items() {
		without := cell(out)
		all = slices.DeleteFunc(all, func(one map[string]string) bool { return len(without) > 0 && agree(one, without, without) })
	}
	original := make([]map[string]string, len(all))
	for i := range all {
		original[i] = maps.Clone(all[i])
	}
	var more []map[string]string
	for _, in := range matrix.get("include").items() {
		extra, fits := cell(in), false
		for i := range original {
			if len(original[i]) > 0 && agree(original[i], extra, original[i]) {
				maps.Copy(all[i], extra)
				fits = true
			}
		}
		if !fits && len(more) < maxCombinations {
			more = append(more, extra)
		}
	}
	if len(more) > 0 && len(all) == 1 && len(all[0]) == 0 {
		return more
	}
	return append(all, more...)
}

// product combines each combination with each value; where these are too many, each value with some.
func product(all []map[string]string, name string, values []node) (out []map[string]string) {
	if len(all)*len(values) > maxCombinations {
		for i := range max(len(all), len(values)) {
			out = append(out, added(all[i%len(all)], name, values[i%len(values)]))
		}
		return out[:min(len(out), maxCombinations)]
	}
	for _, one := range all {
		for _, value := range values {
			out = append(out, added(one, name, value))
		}
	}
	return out
}

// agree reports whether two combinations have the same values for the keys of a third one that both have; for those of without
// all must be there.
func agree(one, other, keys map[string]string) bool {
	for key := range keys {
		a, has := one[key]
		b, also := other[key]
		if has && also && a != b || !has {
			return false
		}
	}
	return true
}

func cell(values node) map[string]string {
	all := map[string]string{}
	for name, value := range values.fields() {
		maps.Copy(all, added(nil, name, value))
	}
	return all
}

// added is a combination with one more value.
func added(one map[string]string, name string, value node) map[string]string {
	out := maps.Clone(one)
	if out == nil {
		out = map[string]string{}
	}
	if value.is(yaml.ScalarNode) {
		out[name] = value.text()
	}
	for key, v := range value.fields() {
		out[name+"."+key] = v.text()
	}
	return out
}

// values are what expressions stand for.
type values struct {
	env, combo, inputs map[string]string
	system             string // another one than this program's checks run on: windows, macos
}

// on is the values on the system of a runner.
func (v values) on(runner string) values {
	for _, system := range []string{"windows", "macos"} {
		if strings.Contains(strings.ToLower(runner), system) {
			v.system = system
		}
	}
	return v
}

var use = lazyregexp.New(`\$\{\{\s*([^}]*?)\s*\}\}`)

// put replaces the expressions of a text whose values are known.
func (v values) put(text string) string {
	return replaced(use, text, func(whole string) string {
		if value, known := v.value(use.FindStringSubmatch(whole)[1]); known && !strings.Contains(value, "${{") {
			return value
		}
		return whole
	})
}

func (v values) all(texts map[string]string) map[string]string {
	for name, text := range texts {
		texts[name] = v.put(text)
	}
	return texts
}

// value is that of a name or a text.
func (v values) value(name string) (string, bool) {
	if len(name) > 1 && name[0] == '\'' && name[len(name)-1] == '\'' {
		return name[1 : len(name)-1], true
	}
	if first, rest, is := strings.Cut(name, " || "); is {
		if value, known := v.value(strings.TrimSpace(first)); !known || value != "" {
			return value, known
		}
		return v.value(strings.TrimSpace(rest))
	}
	group, key, _ := strings.Cut(name, ".")
	var value string
	var known bool
	switch group {
	case "matrix":
		value, known = v.combo[key]
		known = known || len(v.combo) > 0 && !v.dynamic(key)
	case "env":
		value, known = v.env[key]
	case "inputs":
		value, known = v.inputs[key]
	default:
		value, known = map[string]string{
			"github.workspace": ".", "github.event_name": "pull_request", "true": "true", "false": "false",
			"runner.os":   cmp.Or(map[string]string{"windows": "Windows", "macos": "macOS"}[v.system], "Linux"),
			"runner.arch": "X64",
		}[name]
	}
	return value, known
}

// dynamic reports whether a value of the matrix is a mapping: a part of it is not the whole.
func (v values) dynamic(key string) bool {
	for name := range v.combo {
		if strings.HasPrefix(name, key+".") {
			return true
		}
	}
	return false
}

var (
	plainName = lazyregexp.New(`^[\w.-]+$`)
	ofTags    = lazyregexp.New(`^(?:startsWith|contains)\(github\.ref, 'refs/tags`)
)

var comparison = lazyregexp.New(`^\(*\s*([\w.-]+|'[^']*')\s*(==|!=)\s*([\w.-]+|'[^']*')\s*\)*$`)

// holds reports whether a condition can hold for a change, or is not known.
func (v values) holds(condition string) bool {
	condition = strings.TrimSpace(condition)
	if found := use.FindStringSubmatch(condition); found != nil && found[0] == condition {
		condition = found[1]
	}
	if strings.Contains(condition, "||") {
		return slices.ContainsFunc(strings.Split(condition, "||"), v.holds)
	}
	for _, one := range strings.Split(condition, "&&") {
		one = strings.TrimSpace(one)
		if m := comparison.FindStringSubmatch(one); m != nil {
			a, known := v.value(m[1])
			b, also := v.value(m[3])
			if m[1] == "github.event_name" && strings.Contains(m[3], "push") {
				continue // both start a workflow
			}
			if known && also && (strings.EqualFold(a, b) != (m[2] == "==")) {
				return false
			}
			continue
		}
		negated := strings.HasPrefix(one, "!")
		name := strings.TrimLeft(one, "! ")
		if value, known := v.value(name); known && plainName.MatchString(name) && (value == "" || value == "false") != negated {
			return false
		}
		switch {
		case one == "failure()", one == "cancelled()", ofTags.MatchString(one):
			return false
		}
	}
	return true
}
