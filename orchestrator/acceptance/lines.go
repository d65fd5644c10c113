package acceptance

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
)

// maxFile bounds a file that a patch adds, or what it adds to one, in bytes.
const maxFile = 1 << 20

// files asks about binaries and large files that a task does not name, and about files that could not be read.
func files(p *Patch) (found []Finding) {
	for _, c := range p.Changes {
		switch {
		case c.Unread != "" && !IsTest(c.Path):
			found = append(found, Finding{Path: c.Path, Text: "the file was not checked: " + c.Unread})
		case c.After == nil || p.outright(c.Path) || p.moved(c.After):
		case text.Binary(c.After):
			found = append(found, Finding{Path: c.Path, Text: "a binary file, which no one can read, is new or changed"})
		case len(c.After) > len(c.Before)+maxFile:
			text := fmt.Sprintf("the file grows by %d bytes", len(c.After)-len(c.Before))
			found = append(found, Finding{Path: c.Path, Text: text})
		}
	}
	return found
}

// moved reports whether a deleted file had this content.
func (p *Patch) moved(content []byte) bool {
	return slices.ContainsFunc(p.Changes, func(c Change) bool {
		return c.After == nil && c.Before != nil && bytes.Equal(c.Before, content)
	})
}

var bound = re(`(?i)\b(?:at most|about|around|only|up to|no more than|fewer than|~)\s*(\d{1,6})\s+(?:changed |` +
	`added |new )?lines?\b`)

// size asks about a patch that is far larger than those of the template's other shards, or than its brief names.
func size(p *Patch) (found []Finding) {
	lines := 0
	for _, e := range p.edits {
		lines += e.size
	}
	if n := len(p.Siblings); n >= 3 {
		usual := slices.Sorted(slices.Values(p.Siblings))[n/2]
		if lines > 10*usual+100 {
			text := fmt.Sprintf("the patch changes %d lines; other shards change about %d", lines, usual)
			found = append(found, Finding{Text: text})
		}
	}
	if m := bound.FindStringSubmatch(p.Task.Brief); m != nil {
		if most, err := strconv.Atoi(m[1]); err == nil && lines > 3*most+10 {
			found = append(found, Finding{Text: fmt.Sprintf("the patch changes %d lines; its brief names %d", lines, most)})
		}
	}
	return found
}

// pattern finds a kind of line.
type pattern struct {
	*regexp.Regexp

	decision Decision
	text     string
}

// patterns is a list of patterns; a line that has none of the needles matches none.
type patterns struct {
	needles []string
	list    []pattern
}

// index is the place of the pattern that matches a line; -1 for none.
func (p *patterns) index(l line) int {
	has := func(needle string) bool { return strings.Contains(l.text, needle) }
	if !slices.ContainsFunc(p.needles, has) {
		return -1
	}
	return slices.IndexFunc(p.list, func(one pattern) bool { return one.MatchString(l.text) })
}

var placeholders = patterns{[]string{"//", "#", "*", "<!--", "--", ";", "panic", "raise", "!(", "throw"}, []pattern{
	{re(`(?i)(?://|#|/?\*|<!--|--|;)\s*(?:\.\.\.|…|\[\.\.\.\])\s*\(?(?:the )?(?:all |your )?` +
		`(?:rest|existing|remaining|other|previous|unchanged|same|omitted|more|keep|code|` +
		`implementation)\b`), Refuse, "a placeholder replaces code"},
	{
		re(`(?i)(?://|#|/?\*|<!--)\s*\(?(?:the )?(?:rest|remaining|existing|remainder)\b.{0,60}\b(?:unchanged|the same|` +
			`as before|omitted|goes here)\b`),
		Ask, "a comment leaves code out",
	},
	{re(`(?i)(?://|#|/?\*)\s*(?:todo|fixme)\b[^a-z]*(?:implement|fill in|complete|add (?:the )?(?:code|logic|implementation))|` +
		`\bpanic\("(?:not implemented|unimplemented|todo)|\braise NotImplementedError|\b(?:todo|unimplemented)!\(|` +
		`\bthrow new \w+\(['"](?:not implemented|todo|unimplemented)`), Ask, "code is not implemented"},
}}

var (
	prose   = re(`(?i)\.(?:md|rst|txt|adoc)$`)
	fixture = re(`(?:^|/)(?:testdata|fixtures|__snapshots__)/`)
)

// placeholder refuses comments that a model writes in place of code, and asks about code that is not implemented.
func placeholder(p *Patch) []Finding {
	return p.match(&placeholders, func(name string) bool { return !prose.MatchString(name) })
}

// match returns the new lines that patterns find, but for as many as the patch removes of those that ask: they were changed. In
// tests and their data such lines can be meant: they ask.
func (p *Patch) match(search *patterns, of func(path string) bool) (found []Finding) {
	had := make([]int, len(search.list))
	for _, e := range p.edits {
		for _, l := range e.removed {
			if at := search.index(l); at >= 0 && search.list[at].decision == Ask {
				had[at]++
			}
		}
	}
	for i, e := range p.edits {
		name := p.Changes[i].Path
		if len(e.added) == 0 || !of(name) {
			continue
		}
		for _, l := range e.added {
			at := search.index(l)
			if at < 0 {
				continue
			}
			if had[at]--; had[at] >= 0 {
				continue
			}
			f := Finding{Decision: search.list[at].decision, Path: name, Line: l.number, Text: search.list[at].text}
			if fixture.MatchString(name) || IsTest(name) && path.Ext(name) != ".rs" {
				f.Decision = Ask
			}
			found = append(found, f)
		}
	}
	return found
}

// conflict refuses files with the markers of a conflict that was not resolved.
func conflict(p *Patch) (found []Finding) {
	for i, e := range p.edits {
		begin := slices.IndexFunc(e.added, func(l line) bool { return strings.HasPrefix(l.text, "<<<<<<< ") })
		if begin < 0 || !slices.ContainsFunc(e.added[begin:], func(l line) bool { return strings.HasPrefix(l.text, ">>>>>>>") }) {
			continue
		}
		f := Finding{Decision: Refuse, Path: p.Changes[i].Path, Line: e.added[begin].number, Text: "a conflict was not resolved"}
		if fixture.MatchString(f.Path) || prose.MatchString(f.Path) {
			f.Decision = Ask
		}
		found = append(found, f)
	}
	return found
}

var (
	hints       = []string{"-----BEGIN", "gh", "glpat-", "AKIA", "ASIA", "AIza", "xox", "sk-", "k_live", "eyJ"}
	credentials = patterns{hints, []pattern{
		{re(`-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----`), Refuse, "a private key"},
		{re(`\bgh[pousr]_[A-Za-z0-9]{36}|\bgithub_pat_\w{40}|\bglpat-[\w-]{20}`), Refuse, "a token of a code host"},
		{re(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`), Refuse, "a key of AWS"},
		{re(`\bAIza[0-9A-Za-z_-]{35}|\bxox[baprs]-[0-9A-Za-z-]{20}|\bsk-(?:ant-|proj-)?[A-Za-z0-9]{20}|` +
			`\b[sr]k_live_[0-9a-zA-Z]{20}`), Refuse, "a key of a service"},
		{re(`\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}`), Refuse, "a signed token"},
	}}
	assigned = re(`([A-Za-z_][\w-]*)['"]?\s*(?::=|[:=])\s*['"]([A-Za-z0-9+/_=-]{14,})['"]`)
	madeUp   = re(`(?i)example|test|dummy|fake|sample|placeholder|change|xxx|your`)
)

// secrets refuses keys and tokens. The evidence does not repeat them.
func secrets(p *Patch) (found []Finding) {
	for _, f := range p.match(&credentials, func(string) bool { return true }) {
		f.Text += " is added"
		found = append(found, f)
	}
	for i, e := range p.edits {
		name := p.Changes[i].Path
		if IsTest(name) || fixture.MatchString(name) {
			continue
		}
		for _, l := range e.added {
			if !strings.ContainsAny(l.text, `'"`) {
				continue
			}
			m := assigned.FindStringSubmatch(l.text)
			if m != nil && spec.SecretName(m[1]) && random(m[2]) && !madeUp.MatchString(m[2]) {
				text := "what looks like the value of a secret is added"
				found = append(found, Finding{Decision: Refuse, Path: name, Line: l.number, Text: text})
			}
		}
	}
	return slices.DeleteFunc(found, func(f Finding) bool { return p.madeUp(f) })
}

// madeUp reports whether the line of a finding has a key that documentation uses.
func (p *Patch) madeUp(f Finding) bool {
	i := slices.IndexFunc(p.Changes, func(c Change) bool { return c.Path == f.Path })
	at, ok := slices.BinarySearchFunc(p.edits[i].added, f.Line, func(l line, n int) int { return cmp.Compare(l.number, n) })
	return ok && strings.Contains(p.edits[i].added[at].text, "EXAMPLE")
}

// random reports whether a value has letters of both cases and digits, mixed, as names and words do not.
func random(value string) bool {
	changes := 0
	for i := 1; i < len(value); i++ {
		if class(value[i]) != class(value[i-1]) {
			changes++
		}
	}
	return strings.ContainsAny(value, "0123456789") && strings.ToLower(value) != value && changes*3 > len(value)
}

func class(b byte) int {
	switch {
	case b >= '0' && b <= '9':
		return 0
	case b >= 'a' && b <= 'z':
		return 1
	case b >= 'A' && b <= 'Z':
		return 2
	}
	return 3
}
