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

// combo is one combination of a matrix.
type combo map[string]node

// combinations are those of a matrix, at least one.
func combinations(matrix node) []combo {
	all := []combo{{}}
	for name, axis := range matrix.fields() {
		if name != "include" && name != "exclude" && axis.is(yaml.SequenceNode) && len(axis.n.Content) > 0 {
			all = product(all, name, axis.items())
		}
	}
	for _, out := range matrix.get("exclude").items() {
		without := combo(maps.Collect(out.fields()))
		all = slices.DeleteFunc(all, func(one combo) bool { return len(without) > 0 && one.has(without, without) })
	}
	original := make([]combo, len(all))
	for i := range all {
		original[i] = maps.Clone(all[i])
	}
	var more []combo
	for _, in := range matrix.get("include").items() {
		extra, fits := combo(maps.Collect(in.fields())), false
		for i := range original {
			if len(original[i]) > 0 && original[i].has(extra, original[i]) {
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
func product(all []combo, name string, values []node) (out []combo) {
	n, each := len(all)*len(values), len(values)
	if n > maxCombinations {
		n, each = min(max(len(all), len(values)), maxCombinations), 1
	}
	for i := range n {
		one := maps.Clone(all[i/each%len(all)])
		one[name] = values[i%len(values)]
		out = append(out, one)
	}
	return out
}

// has reports whether a combination has all keys, and the values of another one for those of them that the other one has.
func (c combo) has(other, keys combo) bool {
	for key := range keys {
		a, has := c[key]
		b, also := other[key]
		if !has || also && (a.text() != b.text() || !maps.Equal(a.settings(), b.settings())) {
			return false
		}
	}
	return true
}

// values are what expressions stand for.
type values struct {
	env, inputs map[string]string
	combo       combo
	system      string // another one than this program's checks run on: windows, macos
}

var use = lazyregexp.New(`(?s)\$\{\{\s*(.*?)\s*\}\}`)

// put replaces the expressions of a text whose values are known.
func (v values) put(text string) string {
	return replaced(use, text, func(whole string) string {
		if r := v.value(use.FindStringSubmatch(whole)[1]); r.known && !strings.Contains(r.text, "${{") {
			return r.text
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

// name is the value of a name.
func (v values) name(name string) (r result) {
	group, key, _ := strings.Cut(name, ".")
	switch group {
	case "matrix":
		one := v.node(key)
		r.text, r.known = one.text(), len(v.combo) > 0 && (one.n == nil || one.is(yaml.ScalarNode))
	case "env":
		r.text, r.known = v.env[key]
		r.string = true
	case "inputs":
		r.text, r.known = v.inputs[key]
	default:
		r.text, r.known = map[string]string{
			"github.workspace": ".", "true": "true", "false": "false",
			"runner.os":   cmp.Or(map[string]string{"windows": "Windows", "macos": "macOS"}[v.system], "Linux"),
			"runner.arch": "X64",
		}[name]
	}
	return r
}

// node is what a combination has for a name with dots.
func (v values) node(name string) node {
	keys := strings.Split(name, ".")
	return v.combo[keys[0]].get(keys[1:]...)
}

// holds reports whether a condition can hold for a change, or is not known.
func (v values) holds(condition string) bool {
	return !v.value(use.ReplaceAllString(condition, "($1)")).false()
}
