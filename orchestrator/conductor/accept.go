package conductor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/orchestrator/acceptance"
)

// The most that the checks of a patch read: files, the bytes of one, and of all.
const (
	maxJudged      = 2000
	maxJudgedFile  = 2 << 20
	maxJudgedBytes = 64 << 20
)

// accept has a received patch checked for what no gate can see. The fault parks the task; nil where there is none.
func (c *Conductor) accept(ctx context.Context, p *spec.Patch) (*spec.Fault, error) {
	if !slices.ContainsFunc(p.Files, acceptance.IsTest) {
		return nil, nil
	}
	changes, err := changesOf(ctx, c.cfg.Mirror, p)
	if err != nil {
		return nil, err
	}
	evidence := acceptance.Judge(changes)
	if len(evidence) == 0 {
		return nil, nil
	}
	return &spec.Fault{Class: acceptance.ClassTests, Message: weakens(evidence), Detail: strings.Join(evidence, "\n")}, nil
}

// maxWeakens bounds the findings that a message lists.
const maxWeakens = 4

func weakens(evidence []string) string {
	text := "the patch weakens tests, so a person has to judge it: " + strings.Join(evidence[:min(len(evidence),
		maxWeakens)], "; ")
	if n := len(evidence) - maxWeakens; n > 0 {
		text += fmt.Sprintf("; and %d more", n)
	}
	return text
}

// changesOf reads what the checks want to see of a patch, before and after.
func changesOf(ctx context.Context, mirror *git.Repo, p *spec.Patch) ([]acceptance.Change, error) {
	changed, err := mirror.Changed(ctx, p.Base, p.Commit)
	if err != nil {
		return nil, fmt.Errorf("list what %s changes: %w", p.Commit, err)
	}
	type side struct {
		change   *acceptance.Change
		mode, id string
		to       *[]byte
	}
	var entries []git.Entry
	var sides []side
	changed = slices.DeleteFunc(changed, func(c git.Change) bool { return !acceptance.IsTest(c.Path) })
	out := make([]acceptance.Change, len(changed))
	for i, c := range changed {
		out[i].Path = c.Path
		if i >= maxJudged {
			out[i].Unread = fmt.Sprintf("the patch changes %d such files, more than %d", len(changed), maxJudged)
			continue
		}
		for _, s := range []side{{&out[i], c.OldMode, c.OldOID, &out[i].Before}, {&out[i], c.NewMode, c.NewOID, &out[i].After}} {
			if s.mode == git.ModeFile || s.mode == git.ModeExec {
				entries, sides = append(entries, git.Entry{Path: c.Path, Mode: s.mode, OID: s.id}), append(sides, s)
			}
		}
	}
	read := 0
	err = mirror.ReadBlobs(ctx, entries, func(_ git.Entry, content []byte) error {
		s := sides[0]
		sides, read = sides[1:], read+len(content)
		switch {
		case len(content) > maxJudgedFile:
			s.change.Unread = fmt.Sprintf("it has %d bytes, more than %d", len(content), maxJudgedFile)
		case read > maxJudgedBytes:
			s.change.Unread = fmt.Sprintf("the files have more than %d bytes together", maxJudgedBytes)
		default:
			*s.to = append([]byte{}, content...) // never nil: the file is there
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read what %s changes: %w", p.Commit, err)
	}
	return out, nil
}
