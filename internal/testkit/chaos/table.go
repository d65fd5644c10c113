package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// What can be said of a round.
const (
	verdictOK    = "ok"
	verdictSlow  = "slow"
	verdictWrong = "WRONG"
)

// line is the entry of a round in the table.
type line struct {
	seed    int64
	took    time.Duration
	verdict string
	what    string // what was done when
	why     string
}

// String is the line in the table.
func (l line) String() string {
	fields := []string{strconv.FormatInt(l.seed, 10), fmt.Sprintf("%.1f s", l.took.Seconds()), l.verdict, l.what}
	if l.why != "" {
		fields = append(fields, strings.ReplaceAll(l.why, "\n", "; "))
	}
	return strings.Join(fields, "\t")
}

// table is the file with all rounds.
type table struct{ path string }

func (t table) add(l line) error {
	f, err := os.OpenFile(t.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, l)
	return errors.Join(err, f.Close())
}

// last is the seed of the last round; 0 for none.
func (t table) last() (int64, error) {
	data, err := os.ReadFile(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	seed, _, _ := strings.Cut(lines[len(lines)-1], "\t")
	if err != nil || seed == "" {
		return 0, err
	}
	last, err := strconv.ParseInt(seed, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read the last round of %s: %w", t.path, err)
	}
	return last, nil
}
