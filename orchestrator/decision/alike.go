package decision

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/orchestrator/run"
)

var (
	// alone are the lines of a diff that does not show all that it does: what is in a binary file, and where a rename or a link
	// leads. A line of a file's text begins with another character.
	alone = lazyregexp.New(`(?m)^(?:Binary files |GIT binary patch|(?:rename|copy) from |[a-z].* 120000$)`)
	// places are the numbers of a hunk's lines, with the name of a Go package above them, objects the names of a file's contents.
	places  = lazyregexp.New(`(?m)^@@ -[\d,]+ \+[\d,]+ @@(?: package \w+$)?`)
	objects = lazyregexp.New(`^index [0-9a-f]+\.\.[0-9a-f]+`)
	// words are those of a line; its signs and numbers are left.
	words = lazyregexp.New(`[\p{L}_][\p{L}\p{N}_]*`)
)

// Shape is the same for decisions that one answer may be for: about patches of the same kind, of tasks with the same role and
// brief, with the same findings and the same lines in files of the same type. Only paths differ, in brief and findings the names
// that are made of them, and the words of lines that are neither changed nor next to one that is: elsewhere a name can be what
// matters about a line. It is "" for one that stands alone.
func Shape(t *run.Task, d *run.Decision, diff string) string {
	if alone.MatchString(diff) {
		return ""
	}
	parts := []string{string(d.Kind), t.Task.Role, t.Shape(t.Task.Brief), t.Shape(strings.Join(d.Evidence, "\n"))}
	text, lines := false, slices.Collect(strings.Lines(diff)) // text of a file
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "@@ "):
			text = true
			line = places.ReplaceAllLiteralString(line, "@@")
		case text && distant(lines, i):
			line = words.ReplaceAllLiteralString(line, "x")
		case strings.HasPrefix(line, "diff --git "), !text:
			text = false
			line = objects.ReplaceAllLiteralString(line, "")
			line = t.Shape(line) + path.Ext(strings.TrimRight(line, "\"\n"))
		}
		parts = append(parts, line)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:])
}

// distant reports whether a line of a hunk is unchanged, as are the lines before and after it.
func distant(lines []string, i int) bool {
	for _, line := range lines[i-1 : min(i+2, len(lines))] {
		if strings.ContainsAny(line[:1], `+-\`) {
			return false
		}
	}
	return lines[i][0] == ' '
}
