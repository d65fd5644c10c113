package hub

import (
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"time"

	"divisi/bus/member"
	"divisi/internal/usage"
	"divisi/orchestrator/audit"
)

// auditFile is where a server of a state directory keeps who did what.
func auditFile(stateDir string) string { return filepath.Join(stateDir, hubDir, "audit.jsonl") }

// AuditLog reads who did what on the server of a state directory since a time, the oldest first: lines as in its file, see
// docs/machines.md. One that cannot be read is an error, and the others follow.
func AuditLog(stateDir string, since time.Time) (iter.Seq2[json.RawMessage, error], error) {
	path := auditFile(stateDir)
	if _, err := os.Stat(path); err != nil {
		return nil, usage.Errorf("there is no audit log %s: name the state directory of a server", path)
	}
	return func(yield func(json.RawMessage, error) bool) {
		for e, err := range audit.Read(path, since) {
			var line json.RawMessage
			if err == nil {
				line, err = json.Marshal(e)
			}
			if !yield(line, err) {
				return
			}
		}
	}, nil
}

// joined keeps who joined, or could not.
func joined(log *audit.Log, m member.Member, err error) {
	if err != nil {
		log.Add(audit.Entry{By: member.JoinUser, What: audit.Denied, Detail: err.Error()})
		return
	}
	e := audit.Entry{By: m.Name, What: audit.Joined, Name: m.Name, Detail: string(m.Role)}
	if m.Before() != "" {
		e.Detail += ", with another key"
	}
	log.Add(e)
}
