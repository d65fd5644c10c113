package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"divisi/internal/lazyregexp"
)

// madeAuthor makes the commits of trees that prove; madeSubject is that of one without a subject.
const (
	madeAuthor  = "Divisi <divisi@localhost>"
	madeSubject = "The change under test"
)

// Tested returns the commit on which the tree of a commit is tested, and writes it where it is not there: the commits of the run
// from the base on, as they land by tree and subject, with a fixed author and the date of a day. So the same changes have one id
// in all runs of that day, and what builds put into programs and versions stays the same. A tree like the base's is tested on the
// base.
func (r *Repo) Tested(ctx context.Context, commit string, day time.Time) (id string, err error) {
	base, _, err := r.object(ctx, r.base, maxCommit)
	if err != nil {
		return "", fmt.Errorf("read commit %s: %w", r.base, err)
	}
	tree, err := r.Tree(ctx, commit)
	if err != nil {
		return "", err
	}
	headers, _, _ := strings.Cut(string(base), "\n\n")
	if strings.HasPrefix(headers, "tree "+tree+"\n") {
		return r.base, nil
	}
	date := dayOf(headers, day)
	var chain []Commit
	id = r.base
	for at := commit; at != r.base; {
		if known, found := r.tested.Load(date + " " + at); found {
			id, _ = known.(string)
			break
		}
		c, err := r.Commit(ctx, at)
		if errors.Is(err, ErrNotFound) && len(chain) > 0 {
			break // it follows the base
		}
		if err != nil {
			return "", err
		}
		if chain = append(chain, c); len(c.Parents) == 0 {
			break
		}
		at = c.Parents[0]
	}
	for _, c := range slices.Backward(chain) {
		if id, err = r.makeTested(c, id, date); err != nil {
			return "", fmt.Errorf("make the commit on which %s is tested: %w", tree, err)
		}
	}
	return id, nil
}

func (r *Repo) makeTested(c Commit, parent, date string) (string, error) {
	subject, _, _ := strings.Cut(c.Message, "\n")
	made := fmt.Appendf(nil, "tree %s\nparent %s\nauthor %[3]s %[4]s\ncommitter %[3]s %[4]s\n\n%[5]s\n",
		c.Tree, parent, madeAuthor, date, cmp.Or(strings.TrimSpace(subject), madeSubject))
	id, err := writeLoose(r.Objects(), len(c.Tree), "commit", made)
	if err == nil {
		r.tested.Store(date+" "+c.ID, id)
	}
	return id, err
}

// dayOf is the begin of a day as a commit has it, or the date of the base's committer where that is later.
func dayOf(headers string, day time.Time) string {
	begin, date := day.UTC().Truncate(24*time.Hour).Unix(), dateOf(headers)
	seconds, _, _ := strings.Cut(date, " ")
	if n, err := strconv.ParseInt(seconds, 10, 64); err == nil && n < begin {
		return strconv.FormatInt(begin, 10) + " +0000"
	}
	return date
}

// dateOf is the date of the committer, as a commit has it. One that git would not write counts as the first of all.
func dateOf(headers string) string {
	for line := range strings.Lines(headers) {
		if _, date, found := strings.Cut(line, "> "); found && strings.HasPrefix(line, "committer ") {
			if date = strings.TrimSpace(date); dates.MatchString(date) {
				return date
			}
		}
	}
	return "0 +0000"
}

var dates = lazyregexp.New(`^[1-9][0-9]{0,11} [+-][0-9]{4}$`)
