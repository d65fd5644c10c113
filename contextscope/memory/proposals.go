package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
)

const (
	// maxProposal bounds the text that an agent may propose, in bytes.
	maxProposal = 4 << 10
	// maxProposals bounds the proposals that wait for a person.
	maxProposals = 200
	// decided takes the place of .md when a person has taken or refused a proposal: the same is not proposed again.
	decided = ".decided"
)

// ErrRefused reports that something cannot be proposed. The error gives the reason why, for the agent that tried.
var ErrRefused = errors.New("this cannot be kept")

// Proposal is a note that waits for a person.
type Proposal struct {
	// ID is made of the content: the same note has the same id.
	ID   string `json:"id"`
	Note Note   `json:"note"`
}

// Propose keeps a note for a person to decide about, outside the repository, and returns its id. What was proposed before is
// not proposed again, whatever a person made of it. The text is data: it is bounded and cleaned, and what looks like a
// secret is refused. The error wraps ErrRefused when the note is at fault.
func (m *Memory) Propose(ctx context.Context, n Note) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if m.home == "" {
		return "", fmt.Errorf("%w: there is no place for proposals here", ErrRefused)
	}
	n, err := proposable(n)
	if err != nil {
		return "", err
	}
	id := proposalID(n)
	if err := os.MkdirAll(m.inboxDir(), 0o700); err != nil {
		return "", fmt.Errorf("make the directory of proposals: %w", err)
	}
	dir, err := m.inbox()
	if err != nil {
		return "", err
	}
	defer func() { _ = dir.Close() }()
	for _, name := range []string{id + decided, id + ".md"} {
		if _, err := dir.Stat(name); err == nil {
			return id, nil
		}
	}
	waiting, err := fs.Glob(dir.FS(), "*.md")
	if err != nil {
		return "", fmt.Errorf("list the proposals: %w", err)
	}
	if len(waiting) >= maxProposals {
		return "", fmt.Errorf("%w: %d proposals wait for a person already", ErrRefused, len(waiting))
	}
	if n.Created.IsZero() {
		n.Created = m.clock()
	}
	if err := renameio.WriteFile(filepath.Join(m.inboxDir(), id+".md"), n.Render(), 0o600); err != nil {
		return "", fmt.Errorf("keep the proposal: %w", err)
	}
	return id, nil
}

// proposable cleans a note by an agent, or reports what is wrong with it.
func proposable(n Note) (Note, error) {
	n.Name, n.Text = "", visible(strings.ToValidUTF8(n.Text, "\ufffd"))
	title := oneLine(n.Title, maxTitle)
	n.tidy()
	switch {
	case title == "":
		return n, fmt.Errorf("%w: it has no title", ErrRefused)
	case strings.TrimSpace(n.Text) == "":
		return n, fmt.Errorf("%w: it has no text", ErrRefused)
	case len(n.Text) > maxProposal:
		return n, fmt.Errorf("%w: the text has %d bytes, at most %d are kept: say it shorter",
			ErrRefused, len(n.Text), maxProposal)
	}
	all := strings.Join([]string{n.Title, strings.Join(n.Tags, "\n"), strings.Join(n.Paths, "\n"), n.Source, n.Text}, "\n")
	if what := secretIn(all); what != "" {
		return n, fmt.Errorf("%w: it contains something like %s; leave every key, token and password out", ErrRefused, what)
	}
	return n, nil
}

// proposalID is the same for the same content, whichever run proposes it.
func proposalID(n Note) string {
	sum := sha256.New()
	for _, part := range []string{n.Title, strings.Join(n.Tags, "\n"), strings.Join(n.Paths, "\n"), n.Text} {
		fmt.Fprintf(sum, "%d\n%s\n", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}

func (m *Memory) inboxDir() string { return filepath.Join(m.home, "proposals") }

// inbox opens the directory of proposals. It wraps ErrNotFound where nothing was ever proposed.
func (m *Memory) inbox() (*os.Root, error) {
	dir, err := os.OpenRoot(m.inboxDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open the proposals: %w", ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("open the proposals: %w", err)
	}
	return dir, nil
}

// Proposals returns what waits for a person, in the order of the ids, and what is wrong with files that a person has edited.
func (m *Memory) Proposals(ctx context.Context) ([]Proposal, []Problem, error) {
	if m.home == "" {
		return nil, nil, ctx.Err()
	}
	dir, err := m.inbox()
	if errors.Is(err, ErrNotFound) {
		return nil, nil, ctx.Err()
	}
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = dir.Close() }()
	names, err := fs.Glob(dir.FS(), "*.md")
	if err != nil {
		return nil, nil, fmt.Errorf("list the proposals: %w", err)
	}
	var all []Proposal
	var problems []Problem
	for _, name := range names {
		id := strings.TrimSuffix(name, ".md")
		n, _, err := proposed(dir, id)
		if fault := new(ParseError); errors.As(err, &fault) {
			problems = append(problems, fault.Problem)
		} else if err == nil {
			all = append(all, Proposal{ID: id, Note: n})
		}
	}
	return all, problems, ctx.Err()
}

// proposed reads one proposal, as it is and as a note. Its error wraps ErrNotFound or is a *ParseError.
func proposed(dir *os.Root, id string) (Note, []byte, error) {
	at := filepath.Join(dir.Name(), id+".md")
	raw, err := read(dir, file{name: id})
	if errors.Is(err, fs.ErrNotExist) {
		return Note{}, nil, fmt.Errorf("proposal %s: %w", id, ErrNotFound)
	}
	if err != nil {
		return Note{}, nil, &ParseError{Problem{File: at, Message: "it cannot be read: " + reason(err)}}
	}
	n, err := Parse(id, raw)
	if fault := new(ParseError); errors.As(err, &fault) {
		fault.File = at
		return Note{}, nil, fault
	}
	n.Name = ""
	return n, raw, nil
}

// Accept copies proposals into the repository, under names made of their titles, and returns the names. When one of them cannot
// be read none is copied. It wraps ErrNotFound for an id that is not there.
func (m *Memory) Accept(ctx context.Context, ids ...string) ([]string, error) {
	var notes []Note
	var files [][]byte
	names := []string{}
	err := m.decide(ids, func(dir *os.Root, id string) error {
		n, raw, err := proposed(dir, id)
		notes, files = append(notes, n), append(files, raw)
		return err
	}, func(i int) error {
		name, err := m.notes.add(notes[i].Title, files[i])
		if err == nil {
			names = append(names, name)
		}
		return err
	})
	if err != nil || len(names) == 0 {
		return names, err
	}
	_, err = m.Refresh(ctx)
	return names, err
}

// Reject puts proposals away; the same are not proposed again. It wraps ErrNotFound for an id that is not there.
func (m *Memory) Reject(_ context.Context, ids ...string) error {
	return m.decide(ids, func(dir *os.Root, id string) error {
		_, err := dir.Stat(id + ".md")
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("proposal %s: %w", id, ErrNotFound)
		}
		return err
	}, func(int) error { return nil })
}

// decide checks all of the proposals, and then, where that went well, does something with each and puts it away.
func (m *Memory) decide(ids []string, check func(dir *os.Root, id string) error, do func(i int) error) error {
	dir, err := m.inbox()
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	var errs []error
	for _, id := range ids {
		if _, err := hex.DecodeString(id); err != nil || id == "" {
			errs = append(errs, fmt.Errorf("proposal %q: %w", id, ErrNotFound))
			continue
		}
		errs = append(errs, check(dir, id))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, id := range ids {
		if err := do(i); err != nil {
			return fmt.Errorf("accept %s: %w", id, err)
		}
		if err := dir.Rename(id+".md", id+decided); err != nil {
			return fmt.Errorf("put proposal %s away: %w", id, err)
		}
	}
	return nil
}
