package memory

import (
	"strings"
	"unicode"

	"divisi/internal/lazyregexp"
)

// secretForms are how keys and tokens of known issuers look.
var secretForms = []struct {
	what string
	form *lazyregexp.Regexp
}{
	{"a PEM block", lazyregexp.New(`-----BEGIN [A-Z0-9 ]+-----`)},
	{"a Google API key", lazyregexp.New(`\bAIza[0-9A-Za-z_-]{30,}`)},
	{"a Google OAuth token", lazyregexp.New(`\bya29\.[0-9A-Za-z_-]{20,}`)},
	{"an API key (sk-…)", lazyregexp.New(`\bsk-[0-9A-Za-z_-]{20,}`)},
	{"a Stripe key", lazyregexp.New(`\b[rs]k_(?:live|test)_[0-9A-Za-z]{16,}`)},
	{"a GitHub token", lazyregexp.New(`\b(?:gh[pousr]_[0-9A-Za-z]{30,}|github_pat_[0-9A-Za-z_]{30,})`)},
	{"a GitLab token", lazyregexp.New(`\bglpat-[0-9A-Za-z_-]{16,}`)},
	{"an npm token", lazyregexp.New(`\bnpm_[0-9A-Za-z]{30,}`)},
	{"an AWS access key", lazyregexp.New(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`)},
	{"a Slack token", lazyregexp.New(`\bxox[abeoprs]-[0-9A-Za-z-]{10,}`)},
	{"a JSON web token", lazyregexp.New(`\beyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}\.`)},
	{"a password in an address", lazyregexp.New(`\b[a-z][a-z0-9+.-]*://[^\s/:@]+:[^\s/@]{3,}@`)},
}

// assigned is a value under a name that reports what it is. One without a letter or a digit is a word about it.
var assigned = lazyregexp.New(
	"(?i)(?:password|passwd|passphrase|secret|token|api_?key|access_?key|private_?key)[\"'`]?\\s*[:=]\\s*[\"'`]?" +
		"([0-9A-Za-z+_.!@#$%^&*~-]{8,})(?:[\\s\"'`,;]|$)")

// candidates are runs of characters long enough to be a random key.
var candidates = lazyregexp.New(`[0-9A-Za-z+/_=-]{32,}`)

// secretIn reports what in a text looks like a key or a token; empty when nothing does.
func secretIn(text string) string {
	for _, s := range secretForms {
		if s.form.MatchString(text) {
			return s.what
		}
	}
	for _, m := range assigned.FindAllStringSubmatch(text, -1) {
		if strings.ContainsAny(m[1], "0123456789") && strings.ContainsFunc(m[1], unicode.IsLetter) {
			return "a password or a key by its name"
		}
	}
	for _, run := range candidates.FindAllString(text, -1) {
		if random(run) {
			return "a random key of " + run[:3] + "…"
		}
	}
	return ""
}

// random reports whether a run of characters looks drawn rather than written: small letters, capitals and digits that change
// at nearly every second character. Hashes in hex and the longest identifiers do not.
func random(run string) bool {
	runs, all := map[byte]int{}, 0 // runs of one class, by class
	var before byte
	for i := range len(run) {
		if run[i] == '/' { // it is in keys, and more often in paths
			continue
		}
		class := classOf(run[i])
		if class != before {
			runs[class]++
			all++
		}
		before = class
	}
	const least = 2
	return runs['a'] >= least && runs['A'] >= least && runs['0'] >= least && all*100 >= len(run)*45
}

func classOf(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return '0'
	case c >= 'a' && c <= 'z':
		return 'a'
	case c >= 'A' && c <= 'Z':
		return 'A'
	default:
		return '-'
	}
}
