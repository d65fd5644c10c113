package files

import (
	"context"
	"os/exec"
	"path"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// ripgrep finds the program: as given, or on PATH; "-" means none.
func ripgrep(given string) string {
	if given == "-" {
		return ""
	}
	if given == "" {
		given = "rg"
	}
	found, err := exec.LookPath(given)
	if err != nil {
		return "" // the tree is walked instead, with the same result
	}
	return found
}

// candidates asks ripgrep which files below a directory contain a text, or what only UTF-16 and binaries do. It is asked for
// plain text alone: the expression itself is always matched here, so that the result does not depend on whether ripgrep is
// there. ok is false when it could not tell.
func (t *tree) candidates(ctx context.Context, dir, needle string) (names map[string]bool, ok bool) {
	if t.rg == "" || t.Dir == "" || needle == "" || t.layer(dir) != nil {
		return nil, false
	}
	cmd := exec.CommandContext(ctx, t.rg,
		"--no-config", "--no-ignore", "--hidden", "--text", "--encoding", "none", "--no-messages", "--null",
		"--files-with-matches", "--glob", "!.git", "--max-filesize", strconv.Itoa(maxSearched),
		"--regexp", regexp.QuoteMeta(needle), "--regexp", `(?-u:\x00|\xff\xfe|\xfe\xff)`, "--", "./"+dir)
	cmd.Dir = t.Root.Name()
	cmd.Env = []string{"LC_ALL=C.UTF-8"}
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		// 1 means that nothing matches; on anything else some files may have been left out
		return nil, cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == 1
	}
	names = map[string]bool{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		names[path.Clean(name)] = true
	}
	return names, true
}

// needle is the longest text that everything an expression matches contains, or "" where there is none of use.
func needle(pattern string) string {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return ""
	}
	found := required(tree.Simplify())
	if utf8.RuneCountInString(found) < 2 || strings.ContainsAny(found, "\n\r\x00") || !utf8.ValidString(found) ||
		strings.ContainsRune(found, utf8.RuneError) {
		return ""
	}
	return found
}

func required(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpConcat:
		longest := ""
		for _, sub := range re.Sub {
			if text := required(sub); len(text) > len(longest) {
				longest = text
			}
		}
		return longest
	}
	return ""
}
