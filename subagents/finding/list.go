package finding

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"divisi/contextscope/artifact"
	"divisi/internal/spec"
	"divisi/internal/text"
)

// The bounds of a list: its findings, and in bytes what an object holds and the longest text of one.
const (
	MaxList   = 20_000
	maxObject = 64 << 20
	maxText   = 1 << 10
)

// List are all findings of one run of a checker, sorted by place. Cut reports that there are more.
type List struct {
	Findings []spec.Finding `json:"findings"`
	Cut      bool           `json:"cut,omitempty"`
}

// Compare orders findings by their places.
func Compare(a, b spec.Finding) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
		cmp.Compare(a.Signature, b.Signature))
}

// Store puts a list into a store, and returns the name of its object; "" for an empty list.
func Store(ctx context.Context, put func(ctx context.Context, name string, data []byte) error, l List) (string, error) {
	if len(l.Findings) == 0 {
		return "", nil
	}
	plain, err := json.Marshal(l)
	if err != nil {
		return "", fmt.Errorf("write findings: %w", err)
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err = w.Write(plain); err == nil {
		err = w.Close()
	}
	if err != nil {
		return "", fmt.Errorf("write findings: %w", err)
	}
	name := "findings-" + artifact.Digest(out.Bytes())
	if err := put(ctx, name, out.Bytes()); err != nil {
		return "", fmt.Errorf("store findings: %w", err)
	}
	return name, nil
}

// Load returns the list of an object; an empty one for "". A worker has written it: texts are bounded, in one line, and without
// what a terminal obeys, and a file that cannot be one of a tree is none.
func Load(ctx context.Context, get func(ctx context.Context, name string) ([]byte, error), name string) (l List, err error) {
	if name == "" {
		return l, nil
	}
	data, err := get(ctx, name)
	if err != nil {
		return l, fmt.Errorf("load findings: %w", err)
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(r, maxObject))
	}
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	if err != nil {
		return List{}, fmt.Errorf("read the findings %s: %w", name, err)
	}
	if len(l.Findings) > MaxList {
		l.Findings, l.Cut = l.Findings[:MaxList], true
	}
	for i := range l.Findings {
		l.Findings[i] = bounded(l.Findings[i])
	}
	slices.SortStableFunc(l.Findings, Compare)
	return l, nil
}

// bounded is a finding with texts and a place that are sensible.
func bounded(f spec.Finding) spec.Finding {
	for _, part := range []*string{&f.Signature, &f.Message, &f.Code, &f.Tool, &f.Severity, &f.Symbol, &f.Source} {
		*part = text.Head(text.OneLine(*part), maxText)
	}
	if !fs.ValidPath(f.File) || f.File == "." || strings.ContainsFunc(f.File, text.Hidden) {
		f.File = ""
	}
	if f.Line, f.Column = lineOf(f.Line), lineOf(f.Column); f.File == "" {
		f.Line, f.Column = 0, 0
	}
	return f
}
