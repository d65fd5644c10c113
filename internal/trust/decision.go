package trust

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// format is the version of the files that are written and read.
const format = 1

// Decision is a person's agreement for one repository: the real path of its common git directory, and a list of Requests.
type Decision struct {
	Format     int       `json:"format"`
	Repository string    `json:"repository"`
	Requests   []string  `json:"requests"`
	Hash       string    `json:"hash"`
	Agreed     time.Time `json:"agreed"`
}

func hash(requests []string) string {
	digest := sha256.Sum256([]byte(strings.Join(requests, "\n")))
	return hex.EncodeToString(digest[:])
}

// Covers reports whether the decision was about exactly this list; a decision that is nil covers nothing.
func (d *Decision) Covers(requests []string) bool { return d != nil && d.Hash == hash(requests) }

// Changes lists the requests, each with a mark in front: + where the decision does not have it, and - for one that only the
// decision has. Without a decision there is nothing to compare with, and no marks.
func (d *Decision) Changes(requests []string) []string {
	if d == nil {
		return requests
	}
	lines := slices.Compact(slices.Sorted(slices.Values(slices.Concat(d.Requests, requests))))
	for i, r := range lines {
		mark := "  "
		if !slices.Contains(d.Requests, r) {
			mark = "+ "
		} else if !slices.Contains(requests, r) {
			mark = "- "
		}
		lines[i] = mark + r
	}
	return lines
}

// Parse reads a decision about a repository strictly: what is damaged, of another repository or of another version is an error.
func Parse(data []byte, repository string) (*Decision, error) {
	var d Decision
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err := dec.Decode(&d)
	_, after := dec.Token()
	switch {
	case err != nil:
		return nil, fmt.Errorf("it is damaged: %w", err)
	case d.Format != format:
		return nil, fmt.Errorf("it has format %d, and this program reads %d", d.Format, format)
	case d.Repository != repository:
		return nil, errors.New("it is about another repository")
	case !errors.Is(after, io.EOF), d.Hash != hash(d.Requests), slices.ContainsFunc(d.Requests, unprintable):
		return nil, errors.New("it is damaged: its hash is not that of its requests")
	}
	return &d, nil
}

// unprintable recognises what Requests never returns, and what a terminal could obey.
func unprintable(request string) bool {
	return request == "" || strings.ContainsFunc(request, func(r rune) bool { return r < ' ' || r > '~' })
}
