package plan

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"divisi/internal/lazyregexp"
	"divisi/internal/text"
)

// ownerFiles are the places of the file that names the owners; GitHub uses the first that exists.
var ownerFiles = []string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"}

// The bounds of a CODEOWNERS file: GitHub reads none that is larger, and the other keeps a hostile pattern cheap.
const (
	maxOwnerFile    = 3 << 20
	maxOwnerPattern = 1000
)

// ownerRule gives the files that one of two doublestar globs matches to owners, "" for none.
type ownerRule struct{ glob, below, owners string }

// owners are the rules of a CODEOWNERS file, in their order.
type owners []ownerRule

// of returns the owners of a path, sorted and with spaces between; "" for none. The last rule that matches wins.
func (o owners) of(path string) string {
	for _, rule := range slices.Backward(o) {
		if doublestar.MatchUnvalidated(rule.glob, path) || doublestar.MatchUnvalidated(rule.below, path) {
			return rule.owners
		}
	}
	return ""
}

// readOwners reads the owners of a tree whose files are all, sorted, or returns a problem for the plan's author.
func readOwners(ctx context.Context, tree Tree, all []string) (o owners, problem string, err error) {
	at := slices.IndexFunc(ownerFiles, func(f string) bool { return isOneOf(all, f) })
	if at < 0 {
		return nil, "by owner needs a CODEOWNERS file, and the commit has none: " + strings.Join(ownerFiles, ", "), nil
	}
	file := ownerFiles[at]
	sizes, err := tree.Sizes(ctx)
	if err != nil {
		return nil, "", err
	}
	if n := sizes[file]; n >= maxOwnerFile {
		return nil, fmt.Sprintf("%s has %d bytes; GitHub reads less than %d", file, n, maxOwnerFile), nil
	}
	content, err := tree.Read(ctx, file)
	if err != nil {
		return nil, "", err
	}
	o, faults := parseOwners(file, content)
	return o, strings.Join(text.Few(faults, maxOwnerFaults), "; "), nil
}

// maxOwnerFaults bounds the faults of a CODEOWNERS file that a message lists.
const maxOwnerFaults = 5

// parseOwners reads a CODEOWNERS file. Each fault is one line with the file's name, the line's number and the reason.
func parseOwners(file string, content []byte) (o owners, faults []string) {
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	n := 0
	for line := range bytes.Lines(content) {
		n++
		rule, fault := parseOwnerRule(strings.TrimRight(string(line), "\r\n"))
		switch {
		case fault != "":
			faults = append(faults, fmt.Sprintf("%s:%d: %s", file, n, fault))
		case rule != ownerRule{}:
			o = append(o, rule)
		}
	}
	return o, faults
}

var ownerName = lazyregexp.New(`^(@[A-Za-z0-9_-]+(/[A-Za-z0-9._-]+)?|[^@\s]+@[^@\s]+\.[^@\s]+)$`)

// parseOwnerRule reads a line: a pattern and its owners, with spaces and tabs between, and a comment. A line without a rule
// is an empty one.
func parseOwnerRule(line string) (rule ownerRule, fault string) {
	if !utf8.ValidString(line) {
		return rule, "the line is not UTF-8"
	}
	pattern, rest := ownerPattern(strings.Trim(line, " \t"))
	if pattern == "" || pattern[0] == '#' {
		return rule, ""
	}
	var names []string
	for _, name := range strings.Fields(rest) {
		if name[0] == '#' {
			break
		}
		if !ownerName.MatchString(name) {
			return rule, fmt.Sprintf("the owner %q is not @user, @organization/team or an email address",
				text.Clip(name, text.MaxLine))
		}
		names = append(names, strings.ToLower(name)) // GitHub's names fold case
	}
	slices.Sort(names)
	rule.owners = strings.Join(slices.Compact(names), " ")
	rule.glob, rule.below, fault = ownerGlobs(pattern)
	return rule, fault
}

// ownerPattern cuts a line after its pattern, in which a backslash keeps a space.
func ownerPattern(line string) (pattern, rest string) {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case ' ', '\t':
			return line[:i], line[i:]
		}
	}
	return line, ""
}

// ownerGlobs translates a pattern of GitHub's, which is one of gitignore without negation and ranges: without a slash before its
// end it matches in every directory, and a directory means all below it. Unlike in gitignore, docs/* means no file in a directory
// of docs.
func ownerGlobs(pattern string) (glob, below, fault string) {
	switch {
	case len(pattern) > maxOwnerPattern:
		return "", "", fmt.Sprintf("the pattern has %d bytes, more than %d", len(pattern), maxOwnerPattern)
	case pattern[0] == '!':
		return "", "", "GitHub does not support ! in CODEOWNERS"
	case strings.HasPrefix(pattern, `\#`):
		return "", "", "GitHub does not support a pattern that begins with #"
	case strings.Contains(pattern, "***"):
		return "", "", "the pattern has three * in a row"
	}
	if glob, fault = quoteOwnerPattern(pattern); fault != "" || glob == "/" {
		return "", "", fault
	}
	glob, directory := strings.CutSuffix(glob, "/")
	if !strings.Contains(glob, "/") {
		glob = "**/" + glob
	}
	glob = strings.TrimPrefix(glob, "/")
	below = glob + "/**/*"
	switch at := "/" + glob; {
	case directory, strings.HasSuffix(at, "/**"):
		return "", below, ""
	case strings.HasSuffix(at, "/*"):
		return glob, "", ""
	}
	return glob, below, ""
}

// quoteOwnerPattern writes a pattern so that only * and ? mean more than themselves to doublestar.
func quoteOwnerPattern(pattern string) (quoted, fault string) {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		special := c == '{' || c == '}'
		switch c {
		case '[', ']':
			return "", "GitHub does not support [ ] in CODEOWNERS"
		case '\\':
			if i++; i == len(pattern) {
				return "", "the pattern ends with a backslash"
			}
			c = pattern[i]
			special = strings.IndexByte(`*?[]{}\`, c) >= 0
		}
		if special {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String(), ""
}

// Owners returns a function that gives the owners of a file of a tree, or a problem for the plan's author.
func Owners(ctx context.Context, tree Tree) (of func(file string) string, problem string, err error) {
	all, err := tree.Files(ctx)
	if err != nil {
		return nil, "", err
	}
	o, problem, err := readOwners(ctx, tree, all)
	return o.of, problem, err
}
