package decision

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"strings"

	"divisi/orchestrator/run"
)

var (
	// alone are the lines of a diff that does not show all that it does: what is in a binary file, and where a rename or a link
	// leads. A line of a file's text begins with another character.
	alone = regexp.MustCompile(`(?m)^(?:Binary files |GIT binary patch|(?:rename|copy) from |[a-z].* 120000$)`)
	// places are the numbers of a hunk's lines, with the name of a Go package above them, objects the names of a file's contents.
	places  = regexp.MustCompile(`(?m)^@@ -[\d,]+ \+[\d,]+ @@(?: package \w+$)?`)
	objects = regexp.MustCompile(`^index [0-9a-f]+\.\.[0-9a-f]+`)
)

// Shape is the same for decisions that one answer may be for: about patches of the same kind, of tasks with the same role and
// brief, with the same findings and the same lines in files of the same type. Only paths, and in brief and findings the names
// that are made of them, differ: a name in a line can be what matters about it. It is "" for one that stands alone.
func Shape(t *run.Task, d *run.Decision, diff string) string {
	if alone.MatchString(diff) {
		return ""
	}
	parts := []string{string(d.Kind), t.Task.Role, t.Shape(t.Task.Brief), t.Shape(strings.Join(d.Evidence, "\n"))}
	text := false // of a file
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "@@ "):
			text = true
			line = places.ReplaceAllLiteralString(line, "@@")
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
