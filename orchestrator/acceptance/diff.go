package acceptance

import (
	"bytes"
	"path"
	"slices"
	"strconv"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
)

// maxFile bounds a file that a patch adds, or what it adds to one, in bytes.
const maxFile = 1 << 20

// files asks about binaries that a task does not name, and about files that could not be read.
func files(p *Patch) (found []Finding) {
	for _, f := range p.files {
		switch {
		case f.Unread != "" && f.language < 0:
			found = append(found, at(f.Path, 0, "the file was not checked: %s", f.Unread))
		case text.Binary(f.After) && len(f.Before) > 0 && !text.Binary(f.Before):
			found = append(found, at(f.Path, 0, "a text becomes a binary file, which no check reads"))
		case f.After == nil || p.outright(f.Path) || p.moved(f.After):
		case text.Binary(f.After):
			found = append(found, at(f.Path, 0, "a binary file, which no one can read, is new or changed"))
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

// size asks about a patch that is far larger than what its shard holds explains, by the patches of the template's other shards,
// or than its brief names, and about files that grow much which the task does not name.
func size(p *Patch) (found []Finding) {
	lines := 0
	for _, f := range p.files {
		lines += f.size
	}
	if rule := p.Task.Rule; rule != nil && rule.Round == 0 && len(p.Siblings) >= 3 {
		matches := usual(p.Siblings, func(s Sibling) int64 { return int64(s.Matches) }) * float64(rule.Matches)
		bytes := usual(p.Siblings, func(s Sibling) int64 { return s.Bytes }) * float64(rule.Bytes)
		if most := max(matches, bytes); most > 0 && float64(lines) > 10*most+100 {
			found = append(found, at("", 0, "the patch changes %d lines; by what its shard holds (%d matches, %d bytes) and "+
				"what other shards change it would be about %.0f", lines, rule.Matches, rule.Bytes, most))
		}
	}
	if m := bound.FindStringSubmatch(p.Task.Brief); m != nil {
		if most, err := strconv.Atoi(m[1]); err == nil && lines > 3*most+10 {
			found = append(found, at("", 0, "the patch changes %d lines; its brief names %d", lines, most))
		}
	}
	for _, f := range p.files {
		grows := len(f.After) - len(f.Before)
		if grows > maxFile && f.Unread == "" && !text.Binary(f.After) && !p.outright(f.Path) && !p.moved(f.After) {
			found = append(found, at(f.Path, 0, "the file grows by %d bytes", grows))
		}
	}
	return found
}

// usual is the median of the lines that patches change for one of what their shards hold; 0 where none is known.
func usual(siblings []Sibling, holds func(Sibling) int64) float64 {
	var rates []float64
	for _, s := range siblings {
		if n := holds(s); n > 0 {
			rates = append(rates, float64(s.Lines)/float64(n))
		}
	}
	if len(rates) == 0 {
		return 0
	}
	slices.Sort(rates)
	return rates[len(rates)/2]
}

// constraints asks about each constraint that the author reports as not kept. Models have to report on all of them to hand in a
// result.
func constraints(p *Patch) (found []Finding) {
	for _, c := range p.Handoff.Broken() {
		rule := text.Quote(text.Short(c.Text, 80))
		found = append(found, at("", 0, "its author did not keep the constraint %s: %s", rule, text.Quote(c.Note)))
	}
	if p.Role.Executor != spec.ExecutorModel {
		return found
	}
	for _, rule := range spec.Rules(p.Task.Constraints) {
		same := func(c spec.ConstraintEcho) bool { return strings.TrimSpace(c.Text) == strings.TrimSpace(rule) }
		if !slices.ContainsFunc(p.Handoff.Constraints, same) {
			found = append(found, at("", 0, "its author did not report on the constraint %s", text.Quote(text.Short(rule, 80))))
		}
	}
	return found
}

// pattern finds a kind of line: one that has one of the needles, which are quicker to find, and matches.
type pattern struct {
	needles []string
	*lazyregexp.Regexp

	decision Decision
	text     string
	// when, where it is set, decides too.
	when func(f *file, line string) bool
}

type patterns []pattern

// index is the place of the pattern that finds a line; -1 for none.
func (s patterns) index(f *file, l line) int {
	has := func(needle string) bool { return strings.Contains(l.text, needle) }
	return slices.IndexFunc(s, func(one pattern) bool {
		return slices.ContainsFunc(one.needles, has) && (one.when == nil || one.when(f, l.text)) && one.MatchString(l.text)
	})
}

// find is a check of new lines. As many as the patch removes of those that ask were changed: they pass. In texts, tests and their
// data such lines can be meant: they ask.
func (s patterns) find(p *Patch) (found []Finding) {
	had := make([]int, len(s))
	for _, f := range p.files {
		for _, l := range f.removed {
			if which := s.index(f, l); which >= 0 && s[which].decision == Ask {
				had[which]++
			}
		}
	}
	for _, f := range p.files {
		for _, l := range f.added {
			which := s.index(f, l)
			if which < 0 {
				continue
			}
			if had[which]--; had[which] >= 0 {
				continue
			}
			one := s[which]
			if f.data || f.prose || f.language >= 0 && path.Ext(f.Path) != ".rs" {
				one.decision = Ask
			}
			found = append(found, Finding{Decision: one.decision, Path: f.Path, Line: l.number, Kind: one.text, Text: one.text})
		}
	}
	return found
}

// conflicts are the markers of a conflict that was not resolved.
var conflicts = patterns{
	{strings.Fields("<<<<<<< >>>>>>>"), re(`^(?:<{7}|>{7}) `), Refuse, "a conflict was not resolved", nil},
}

// placeholders are the texts that a model writes in place of code, and code that is not implemented.
var placeholders = patterns{
	{strings.Fields("... …"), re(`(?i)(?://|#|/?\*|<!--|--|;)\s*(?:\.\.\.|…|\[\.\.\.\])\s*\(?(?:the )?(?:all |your )?` +
		`(?:rest|existing|remaining|other|previous|unchanged|same|omitted|more|keep|code|` +
		`implementation)\b`), Refuse, "a placeholder replaces code", ofCode},
	{strings.Fields("// # * <!--"), re(`(?i)(?://|#|/?\*|<!--)\s*\(?(?:the )?(?:rest|remaining|existing|remainder)\b.{0,60}` +
		`\b(?:unchanged|the same|as before|omitted|goes here)\b`), Ask, "a comment leaves code out", ofCode},
	{strings.Fields("// # * panic raise !( throw"), re(`(?i)(?://|#|/?\*)\s*(?:todo|fixme)\b[^a-z]*(?:implement|fill in|` +
		`complete|add (?:the )?(?:code|logic|implementation))|` +
		`\bpanic\("(?:not implemented|unimplemented|todo)|\braise NotImplementedError|\b(?:todo|unimplemented)!\(|` +
		`\bthrow new \w+\(['"](?:not implemented|todo|unimplemented)`), Ask, "code is not implemented", ofCode},
}

func ofCode(f *file, _ string) bool { return !f.prose }

var (
	// credentials are keys and tokens. The evidence does not repeat them.
	credentials = patterns{
		{strings.Fields("-----BEGIN"), re(spec.PrivateKey), Refuse, "a private key is added", nil},
		{
			strings.Fields("gh glpat-"), re(`\bgh[pousr]_[A-Za-z0-9]{36}|\bgithub_pat_\w{40}|\bglpat-[\w-]{20}`),
			Refuse, "a token of a code host is added", genuine,
		},
		{strings.Fields("AKIA ASIA"), re(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`), Refuse, "a key of AWS is added", genuine},
		{strings.Fields("AIza xox sk- k_live"), re(`\bAIza[0-9A-Za-z_-]{35}|\bxox[baprs]-[0-9A-Za-z-]{20}|` +
			`\bsk-(?:ant-|proj-)?[A-Za-z0-9]{20}|\b[sr]k_live_[0-9a-zA-Z]{20}`), Refuse, "a key of a service is added", genuine},
		{strings.Fields("eyJ"), re(`\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}`), Refuse, "a signed token is added", genuine},
		{strings.Fields(`' "`), assigned, Refuse, "a value that looks like a secret is added", secret},
	}
	assigned = re(`([A-Za-z_][\w-]*)['"]?\s*(?::=|[:=])\s*['"]([A-Za-z0-9+/_=-]{14,})['"]`)
	madeUp   = re(`(?i)example|test|dummy|fake|sample|placeholder|change|xxx|your`)
)

// genuine reports whether a line has no key that documentation uses.
func genuine(_ *file, line string) bool { return !strings.Contains(line, "EXAMPLE") }

// secret reports whether a line gives a name of a secret a value that no person made up.
func secret(f *file, line string) bool {
	if f.language >= 0 || f.data {
		return false
	}
	m := assigned.FindStringSubmatch(line)
	return m != nil && spec.SecretName(m[1]) && random(m[2]) && !madeUp.MatchString(m[2])
}

var stretch = re(`[0-9]+|[A-Z]+|[a-z]+|[^0-9A-Za-z]+`)

// random reports whether a value has letters of both cases and digits, mixed, as names and words do not.
func random(value string) bool {
	changes := len(stretch.FindAllString(value, -1)) - 1
	return strings.ContainsAny(value, "0123456789") && strings.ToLower(value) != value && changes*3 > len(value)
}
