package compaction

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
)

const (
	// maxSnapshot bounds a model's snapshot, in bytes; maxStored what code has added its facts to.
	maxSnapshot = 64 << 10
	maxStored   = 1 << 20
)

// snapshotBegin is where a snapshot begins in an answer. In a text of JSON it cannot stand: quotes are escaped there.
var snapshotBegin = lazyregexp.New(`\{\s*"` + snapshotParts[0] + `"\s*:`)

// ParseSnapshot reads a snapshot from a model's answer: what stands around the one object is dropped, and so are facts that
// pretend to be pinned. The error reports what to fix.
func ParseSnapshot(answer string) (Snapshot, error) {
	begins := snapshotBegin.FindAllStringIndex(answer, -1)
	switch len(begins) {
	case 0:
		return Snapshot{}, fmt.Errorf("there is no JSON object in the answer that begins with %q", snapshotParts[0])
	case 1:
	default:
		return Snapshot{}, fmt.Errorf("more than one JSON object begins with %q: write it once", snapshotParts[0])
	}
	var body json.RawMessage
	if err := json.NewDecoder(strings.NewReader(answer[begins[0][0]:])).Decode(&body); err != nil {
		return Snapshot{}, fmt.Errorf("the snapshot is no JSON: %w", err)
	}
	if len(body) > maxSnapshot {
		return Snapshot{}, fmt.Errorf("the snapshot has %d bytes; at most %d are taken", len(body), maxSnapshot)
	}
	return readSnapshot(body, snapshotParts)
}

// ReadSnapshot reads a snapshot that Render wrote, pinned facts included.
func ReadSnapshot(stored string) (Snapshot, error) {
	if len(stored) > maxStored {
		return Snapshot{}, fmt.Errorf("the stored snapshot has %d bytes; at most %d are read", len(stored), maxStored)
	}
	return readSnapshot([]byte(stored), append(snapshotParts, partPinned))
}

// readSnapshot reads those parts of a snapshot. The facts may be missing.
func readSnapshot(body []byte, parts []string) (s Snapshot, err error) {
	fields, err := spec.Object(body, append(snapshotParts, partPinned)...)
	if err != nil {
		return s, fmt.Errorf("the snapshot: %w", err)
	}
	for _, part := range parts {
		value := fields[part]
		if value == nil && part == partPinned {
			continue
		}
		if value == nil {
			err = errors.Join(err, fmt.Errorf("the part %q is missing", part))
		} else if fault := json.Unmarshal(value, s.part(part)); fault != nil {
			err = errors.Join(err, fmt.Errorf("the part %q cannot be read: %w", part, fault))
		}
	}
	if err == nil {
		err = s.check()
	}
	if err != nil {
		return Snapshot{}, err
	}
	return s.plain(), nil
}

// check reports what is wrong with the plan or the facts.
func (s *Snapshot) check() error {
	for _, step := range s.CurrentPlan {
		if !slices.Contains(stepStates, step.Status) || plainText(step.Text) == "" {
			return fmt.Errorf("each step of current_plan has a text, and a status: one of %s", strings.Join(stepStates, ", "))
		}
	}
	for _, f := range s.Pinned {
		if !slices.Contains(factKinds, f.Kind) {
			return fmt.Errorf("there is no kind of fact %q", f.Kind)
		}
	}
	return nil
}
