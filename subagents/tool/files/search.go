package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"divisi/internal/text"
	"divisi/internal/textfile"
	"divisi/subagents/tool"
)

// The bounds of one search.
const (
	maxMatches    = 100
	maxMatchLine  = 300
	maxMatchText  = 34_000
	maxContext    = 10
	maxSearched   = 8 << 20
	longestSearch = time.Minute
	beatSearched  = 500
)

type searchArgs struct {
	Pattern    string `json:"pattern" jsonschema:"RE2, by line"`
	Path       string `json:"path,omitempty"`
	Glob       string `json:"glob,omitempty"`
	Context    int    `json:"context,omitempty" jsonschema:"lines around each match, up to 10"`
	IgnoreCase bool   `json:"ignore_case,omitempty"`
	Literal    bool   `json:"literal,omitempty" jsonschema:"pattern is plain text"`
	FilesOnly  bool   `json:"files_only,omitempty" jsonschema:"only files and counts"`
}

// Doing describes the call.
func (a searchArgs) Doing() string { return "searching " + a.Pattern }

func (t *tree) search(ctx context.Context, a searchArgs) tool.Result {
	q, err := newQuery(a)
	if err != nil {
		return tool.Failed("%s", err)
	}
	target, err := t.resolve(a.Path)
	if err != nil {
		return tool.Failed("%s", err)
	}
	info, err := t.stat(target)
	if err != nil {
		return tool.Failed("%s", explain(target, err))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, longestSearch, errors.New("it took longer than a minute: narrow path or glob"))
	defer cancel()
	if !info.IsDir() {
		data, _, err := t.readReal(target, target, maxSearched)
		if err != nil {
			return tool.Failed("%s", err)
		}
		if err := q.file(ctx, target, data); err != nil {
			return tool.Failed("search %s: %s", target, err)
		}
		return tool.Text(q.result(target))
	}
	if err := t.searchBelow(ctx, q, target); err != nil {
		return tool.Failed("search %s: %s", target, err)
	}
	return tool.Text(q.result(target))
}

// searchBelow searches all files below a directory. Ripgrep, where there is one, only names the files that can match: which
// files the search reads, and what it reports the others, does not depend on it.
func (t *tree) searchBelow(ctx context.Context, q *query, dir string) error {
	matching, known := t.candidates(ctx, dir, q.needle)
	complete, err := t.walk(ctx, dir, func(name string, entry fs.DirEntry) error {
		if !entry.Type().IsRegular() || q.glob != "" && !globMatches(q.glob, below(dir, name)) {
			return nil
		}
		info, err := entry.Info()
		if err != nil || info.Size() > maxSearched || linkCount(info) > 1 && t.layer(name) == nil {
			q.skipped++
			return nil
		}
		if known && !matching[name] {
			return nil
		}
		data, _, err := t.readReal(name, name, maxSearched)
		if err != nil {
			q.skipped++
			return nil
		}
		if q.searched++; q.searched%beatSearched == 0 {
			tool.Beat(ctx, fmt.Sprintf("%d files searched, %d lines match", q.searched, q.matches))
		}
		return q.file(ctx, name, data)
	})
	q.cut = !complete
	return err
}

// query is one search and what it found so far.
type query struct {
	re *regexp.Regexp
	// needle is a text that every matching line contains; may be empty.
	needle    string
	glob      string
	context   int
	filesOnly bool

	b                       strings.Builder
	shown, matches, inFiles int
	searched, skipped       int
	cut                     bool
}

func newQuery(a searchArgs) (*query, error) {
	pattern := a.Pattern
	if pattern == "" {
		return nil, errors.New("the pattern is empty")
	}
	if len(pattern) > 1000 {
		return nil, errors.New("the pattern is longer than 1000 bytes")
	}
	if a.Literal {
		pattern = regexp.QuoteMeta(pattern)
	}
	if a.IgnoreCase {
		pattern = "(?i:" + pattern + ")"
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("the pattern is not an RE2 expression: %w. Set literal to search for plain text", err)
	}
	if err := checkGlob(a.Glob); err != nil {
		return nil, fmt.Errorf("glob %w", err)
	}
	return &query{
		re: re, needle: needle(pattern), glob: a.Glob, filesOnly: a.FilesOnly, context: min(max(0, a.Context), maxContext),
	}, nil
}

// file looks for matches in one file's content. The error is the cause of the context when that has ended.
func (q *query) file(ctx context.Context, name string, data []byte) error {
	f, ok := textfile.Read(data)
	switch {
	case !ok && q.needle != "" && !strings.Contains(string(data), q.needle):
		return nil
	case !ok:
		q.skipped++
		return nil
	case q.needle != "" && !strings.Contains(string(f.Text), q.needle):
		return nil
	}
	lines := text.Lines(string(f.Text))
	var hits []int
	for i, line := range lines {
		if q.matchesLine(ctx, line) {
			hits = append(hits, i)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if len(hits) > 0 {
		q.found(ctx, name, lines, hits)
	}
	return nil
}

// longLine is the length, in bytes, from which a line is read rune by rune, so that an expression that takes its time with it
// ends with the context.
const longLine = 64 << 10

func (q *query) matchesLine(ctx context.Context, line string) bool {
	if len(line) < longLine {
		return q.re.MatchString(line)
	}
	return q.find(ctx, line) != nil
}

// find returns where a line matches, or nil.
func (q *query) find(ctx context.Context, line string) []int {
	if len(line) < longLine {
		return q.re.FindStringIndex(line)
	}
	return q.re.FindReaderIndex(&runes{rest: line, ended: func() bool { return ctx.Err() != nil }})
}

// runes reads a text, which ends when ended says so.
type runes struct {
	rest  string
	read  int
	ended func() bool
}

// ReadRune implements io.RuneReader.
func (r *runes) ReadRune() (c rune, size int, err error) {
	const often = 1 << 10
	if r.read++; r.rest == "" || r.read%often == 0 && r.ended() {
		return 0, 0, io.EOF
	}
	c, size = utf8.DecodeRuneInString(r.rest)
	r.rest = r.rest[size:]
	return c, size, nil
}

// found counts and shows the matches of one file.
func (q *query) found(ctx context.Context, name string, lines []string, hits []int) {
	q.inFiles++
	q.matches += len(hits)
	if q.filesOnly {
		if q.inFiles <= maxListed {
			fmt.Fprintf(&q.b, "%s: %d\n", safeName(name), len(hits))
		}
		return
	}
	q.show(ctx, safeName(name), lines, hits)
}

// show writes matches as name:line:text and their surroundings as name-line-text.
func (q *query) show(ctx context.Context, name string, lines []string, hits []int) {
	next := 0 // the first line that has not been written
	for h, hit := range hits {
		if q.shown == maxMatches || q.b.Len() > maxMatchText {
			return
		}
		from, to := max(next, hit-q.context), min(len(lines)-1, hit+q.context)
		if h+1 < len(hits) {
			to = min(to, hits[h+1]-1)
		}
		if q.context > 0 && q.b.Len() > 0 && (from > next || h == 0) {
			q.b.WriteString("--\n")
		}
		for i := from; i <= to; i++ {
			q.line(ctx, name, i, lines[i], i == hit)
		}
		q.shown++
		next = max(next, to+1)
	}
}

func (q *query) line(ctx context.Context, name string, i int, line string, hit bool) {
	sep := "-"
	if hit {
		sep = ":"
		if at := q.find(ctx, line); at != nil && at[0] > maxMatchLine/2 {
			line = "…" + line[at[0]-maxMatchLine/4:] // a long line is shown around its match
		}
	}
	line = text.Short(strings.ToValidUTF8(line, "\uFFFD"), maxMatchLine)
	fmt.Fprintf(&q.b, "%s%s%d%s%s\n", name, sep, i+1, sep, line)
}

func (q *query) result(where string) string {
	switch {
	case q.matches == 0:
		fmt.Fprintf(&q.b, "[no line below %s matches]\n", where)
	case q.filesOnly && q.inFiles > maxListed:
		fmt.Fprintf(&q.b, "[%d more files; %d lines match in all]\n", q.inFiles-maxListed, q.matches)
	case q.filesOnly || q.shown == q.matches:
		fmt.Fprintf(&q.b, "[%d lines in %d files match]\n", q.matches, q.inFiles)
	default:
		fmt.Fprintf(&q.b, "[%d of %d matching lines in %d files are shown: narrow path, glob or pattern, or set files_only]\n",
			q.shown, q.matches, q.inFiles)
	}
	if q.skipped > 0 {
		fmt.Fprintf(&q.b, "[%d files were not searched: binary, too large or not readable]\n", q.skipped)
	}
	if q.cut {
		fmt.Fprintf(&q.b, "[the tree has more than %d entries; the rest was not searched: give a deeper path]\n", maxVisited)
	}
	return q.b.String()
}
