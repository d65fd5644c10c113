package hub

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"divisi/internal/release"
	"divisi/orchestrator/audit"
	"divisi/orchestrator/backup"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/host"
)

// Saved reports what a backup of a server has.
type Saved struct {
	Server  string    `json:"server"`  // the id of the server
	Version string    `json:"version"` // of the program that made the backup
	Time    time.Time `json:"time"`
	// Position is the newest one of the log; From, where it was restored, from which one it continues.
	Position uint64 `json:"position"`
	From     uint64 `json:"from,omitempty"`
	Events   int    `json:"events"`
	Objects  int    `json:"objects"`
	Runs     int    `json:"runs"`
	Files    int    `json:"files"`
	Bytes    int64  `json:"bytes"`
}

func savedOf(m *backup.Manifest, from uint64) Saved {
	return Saved{
		Server: m.Server, Version: m.Version, Time: m.Time, Position: m.Position, From: from, Events: m.Events,
		Objects: m.Objects, Runs: m.Runs, Files: len(m.Files), Bytes: m.Bytes(),
	}
}

// Backup copies the server of a state directory into a directory that is new or empty, also while it serves; see docs/operate.md.
func Backup(ctx context.Context, stateDir, dir string) (Saved, error) {
	m, err := backup.Save(ctx, stateDir, dir, release.Version(), depot.Now())
	what := audit.Entry{By: audit.Operator, What: audit.BackedUp, Detail: dir, Refused: host.Refusal(err)}
	if err = errors.Join(err, keepOne(stateDir, what)); err != nil {
		return Saved{}, err
	}
	return savedOf(m, 0), nil
}

// Restore puts a backup into a state directory that is new or empty. A server that is started there continues with it.
func Restore(ctx context.Context, dir, stateDir string) (Saved, error) {
	m, from, err := backup.Restore(ctx, dir, stateDir, depot.Now())
	if err != nil {
		return Saved{}, err
	}
	what := audit.Entry{By: audit.Operator, What: audit.Restored, Detail: "of " + m.Time.Format(time.RFC3339)}
	return savedOf(m, from), keepOne(stateDir, what)
}

// keepOne appends a line to the audit log of a server, where there is one.
func keepOne(stateDir string, e audit.Entry) (err error) {
	if _, err := os.Stat(filepath.Join(stateDir, hubDir)); err != nil {
		return nil //nolint:nilerr // what follows reports that there is no server
	}
	book, err := audit.Open(auditFile(stateDir), depot.Now, func(failed error) { err = errors.Join(err, failed) })
	if err != nil {
		return err
	}
	book.Add(e)
	book.Close()
	return err
}
