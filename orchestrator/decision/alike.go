package decision

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"divisi/orchestrator/run"
)

// blobs are the lines of a diff that name objects, and the places of hunks.
var blobs = regexp.MustCompile(`(?m)^(?:index [0-9a-f]+\.\.[0-9a-f]+.*|@@ .*)$`)

// Shape is the same for decisions about patches of the same kind, with the same findings and the same diff, but for what is a
// task's own: its paths and the names that are made of them.
func Shape(t *run.Task, d *run.Decision, diff string) string {
	parts := append([]string{string(d.Kind), blobs.ReplaceAllLiteralString(diff, "")}, d.Evidence...)
	sum := sha256.Sum256([]byte(t.Shape(strings.Join(parts, "\n"))))
	return hex.EncodeToString(sum[:])
}
