package suppression

import (
	"strconv"
	"strings"

	"divisi/internal/lazyregexp"
)

// configurations are the files that configure checkers, and their sections that do.
var configurations = []struct{ file, sections *lazyregexp.Regexp }{
	{re(`(?i)(?:^|/)(?:[tj]sconfig[\w.-]*\.json|\.?eslint(?:rc|\.config)[\w.]*|biome\.jsonc?|\.oxlintrc\.json|deno\.jsonc?|` +
		`(?:based)?pyright(?:config)?\.json|tslint\.json|\.[jc]shintrc|\.?stylelint(?:rc|\.config)[\w.]*|\.markdownlint[\w.-]*|` +
		`\.golangci\.\w+|\.rubocop\.yml|\.swiftlint\.yml|analysis_options\.yaml|detekt\.yml|\.yamllint\w*|\.clang-tidy|` +
		`\.?ruff\.toml|\.?clippy\.toml|\.?mypy\.ini|\.flake8|\.?pylintrc(?:\.toml)?|phpstan\.neon(?:\.dist)?|\.bandit|` +
		`\.shellcheckrc|\.hadolint\.ya?ml)$`), re(``)},
	{re(`(?:^|/)pyproject\.toml$`), re(`^tool\.(?:ruff|mypy|(?:based)?pyright|pylint|flake8|bandit|ty|pyre)\b`)},
	{re(`(?:^|/)(?:setup\.cfg|tox\.ini)$`), re(`^(?:flake8|mypy|pylint|pycodestyle|bandit)\b`)},
	{re(`(?:^|/)Cargo\.toml$`), re(`^(?:workspace\.)?lints\b`)},
	{re(`(?:^|/)package\.json$`), re(`^(?:eslintConfig|eslintIgnore|stylelint|xo|standard)\b`)},
}

var (
	// ignoring are lists of files that a checker leaves out, and baselines of what it found.
	ignoring = re(`(?i)(?:^|/)(?:\.(?:\w*lint|prettier|semgrep|trivy|gitleaks|flake8|phpstan)-?ignore|\.secrets\.baseline|` +
		`[\w.-]*(?:baseline|suppressions?|exclusions?)[\w.-]*\.(?:json|xml|neon|ya?ml|toml|txt|php)|\.betterer\.results|` +
		`\.rubocop_todo\.yml)$`)
	// leaves are names of what is left out, wanted of what checkers are to do, rules of rules, firm of settings that hold code to
	// more, most of bounds.
	leaves = re(`(?i)exclu|ignor|disabl|skip|omit|suppress|unfixable|nocheck|allow(?:ed|Un|\b)`)
	wanted = re(`(?i)(?:^|\.)(?:enable(?:[-_]\w+)?|(?:extend-)?select|extends|plugins|presets|linters|checks)$`)
	rules  = re(`(?i)(?:^|\.)(?:\w*rules?|lints|\w*severity|diagnostics?|cops?|report\w+|enabled|level)(?:\.|$)`)
	firm   = re(`(?i)strict|^no[A-Z_-]|^(?:check|disallow|warn|enable|exact|useUnknown|force|fail|error|recommended)|_no_`)
	most   = re(`(?i)max|limit|length|complexity|threshold|statements|depth|count$`)
	// levels are how much a value makes a checker find.
	levels = map[string]int{
		"off": 1, "0": 1, "none": 1, "allow": 1, "ignore": 1, "false": 1, "disabled": 1, "1": 2, "warn": 2, "warning": 2,
		"hint": 2, "info": 2, "2": strict, "error": strict, "deny": strict, "forbid": strict, "fatal": strict, "true": strict,
	}
)

const strict = 3

// setting is a value of a configuration. Its name has those above it; the last one, key, stays in another file or form.
type setting struct{ file, name, key, value string }

func (s setting) firm() bool { return rules.MatchString(s.name) || firm.MatchString(s.key) }

// eases reports whether a new setting lets more pass than the value that it replaces, if any.
func (s setting) eases(was string) bool {
	now := levels[strings.ToLower(s.value)]
	n, err := strconv.Atoi(s.value)
	old, fails := strconv.Atoi(was)
	switch {
	case most.MatchString(s.key) && err == nil && fails == nil:
		return n > old
	case strings.HasPrefix(s.value, "!") || leaves.MatchString(s.name):
		return strings.HasPrefix(s.value, "!") != leaves.MatchString(s.name) && now != 1
	}
	return now > 0 && s.firm() && (now == 1 || now < levels[strings.ToLower(was)])
}

// settings are those of both sides, and how many more there were before, by key and value.
func settings(files []File) (sides [2][]setting, had map[[2]string]int) {
	had = map[[2]string]int{}
	for _, f := range files {
		for side, content := range []string{string(f.Before), string(f.After)} {
			visit := func(name, value string) {
				s := setting{f.Path, name, strings.TrimPrefix(name[strings.LastIndexByte(name, '.')+1:], "extend-"), value}
				sides[side] = append(sides[side], s)
				had[[2]string{s.key, value}] += 1 - 2*side
			}
			for _, c := range configurations {
				if c.file.MatchString(f.Path) {
					nested(content, c.sections, "", visit)
				}
			}
			if ignoring.MatchString(f.Path) {
				nested(content, re(``), "ignore", visit)
			}
		}
	}
	return sides, had
}

// eased finds settings with which checkers find less.
func eased(files []File) Growth {
	g := Growth{Kind: "a setting of a checker"}
	sides, had := settings(files)
	was, changed := map[string]string{}, map[string]bool{}
	for _, s := range sides[0] {
		if k := [2]string{s.key, s.value}; had[k] > 0 {
			was[s.key] = s.value
		}
	}
	for _, s := range sides[1] {
		if k := [2]string{s.key, s.value}; had[k] < 0 {
			had[k]++
			if changed[s.key] = true; s.eases(was[s.key]) {
				g.add(s.file, s.name+" = "+s.value)
			}
		}
	}
	for _, s := range sides[0] {
		k := [2]string{s.key, s.value}
		if had[k] <= 0 || leaves.MatchString(s.name) {
			continue
		}
		if had[k]--; wanted.MatchString(s.name) ||
			!changed[s.key] && !changed["strict"] && levels[strings.ToLower(s.value)] == strict && s.firm() {
			g.add(s.file, "no more: "+s.name+" = "+s.value)
		}
	}
	return g
}

var (
	tokens = re(`"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[\w$@./*!^~|\\<>+-]+|[{}\[\](),:=]`)
	keyed  = re(`^(?:"([^"]*)"|'([^']*)'|([\w@/.*-]+))\s*(?:=|:(?:\s|$))\s*`)
	remark = re(`(?:^|\s)(?:[#;]|//|/\*).*$`)
)

// nested visits the values below some names of a text whose indents nest names, as those of JSON, YAML and JavaScript do that
// formatters leave, or which has sections.
func nested(content string, sections *lazyregexp.Regexp, prefix string, visit func(name, value string)) {
	type above struct {
		indent int
		name   string
	}
	var stack []above
	for line := range strings.Lines(content) {
		plain := strings.TrimSpace(remark.ReplaceAllLiteralString(strings.TrimRight(line, "\r\n"), ""))
		indent := len(line) - len(strings.TrimLeft(line, " \t"))
		for strings.HasPrefix(plain, "- ") {
			plain, indent = plain[2:], indent+2
		}
		for plain != "" && len(stack) > 0 && stack[len(stack)-1].indent >= indent {
			stack = stack[:len(stack)-1]
		}
		if indent == 0 && strings.HasPrefix(plain, "[") {
			stack = []above{{-1, strings.Trim(plain, "[]")}}
			continue
		}
		if m := keyed.FindStringSubmatch(plain); m != nil {
			stack, plain = append(stack, above{indent, m[1] + m[2] + m[3]}), plain[len(m[0]):]
		}
		name, key, value := prefix, "", ""
		for _, a := range stack {
			name += "." + a.name
		}
		for _, t := range append(tokens.FindAllString(plain, -1), ",") {
			switch {
			case t == ":" || t == "=":
				key, value = "."+value, ""
			case !strings.Contains("{}[](),", t):
				value = strings.Trim(t, `"'`)
			case value != "":
				if full := strings.Trim(name+key, "."); sections.MatchString(full) {
					visit(full, value)
				}
				value = ""
			}
		}
	}
}
