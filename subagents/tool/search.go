package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"divisi/internal/spec" // for the description.

	"google.golang.org/genai"
)

//go:embed search.md
var searchText string

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

type search struct {
	files *tree
	// rg is the path of ripgrep, or empty.
	rg string
}

// Declaration is what the model is told.
func (t *search) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{
		Name: spec.ToolSearch, Description: searchText,
		ParametersJsonSchema: object(properties{
			"pattern":     property("string", "RE2 regular expression, matched line by line, e.g. func \\w+\\(ctx"),
			"path":        property("string", "Directory or file to search. Default: the whole tree."),
			"glob":        property("string", "Only files that match, e.g. **/*.go, below path. A glob without / matches names."),
			"context":     property("integer", "Lines to show before and after each match, up to 10. Default 0."),
			"ignore_case": property("boolean", "Ignore upper and lower case."),
			"literal":     property("boolean", "The pattern is plain text, not an expression."),
			"files_only":  property("boolean", "Only list the files that match and the number of matching lines in each."),
		}, "pattern"),
	}
}

// Effect is Reads: it only looks.
func (t *search) Effect(Call) Effect { return Reads }

// Doing names what the call is about.
func (t *search) Doing(call Call) string { return "searching " + call.text("pattern") }

// Run carries out one call.
func (t *search) Run(ctx context.Context, call Call) Result {
	q, err := newQuery(call)
	if err != nil {
		return Failed("%s", err)
	}
	target, err := t.files.resolve(call.text("path"))
	if err != nil {
		return Failed("%s", err)
	}
	info, err := t.files.root.Stat(target)
	if err != nil {
		return Failed("%s", explain(target, err))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, longestSearch, errors.New("it took longer than a minute: narrow path or glob"))
	defer cancel()
	if !info.IsDir() {
		data, _, err := t.files.readReal(target, target, maxSearched)
		if err != nil {
			return Failed("%s", err)
		}
		if err := q.file(ctx, target, data); err != nil {
			return Failed("search %s: %s", target, err)
		}
		return Text(q.result(target))
	}
	if err := t.directory(ctx, q, target); err != nil {
		return Failed("search %s: %s", target, err)
	}
	return Text(q.result(target))
}

// directory searches all files below one. Ripgrep, where there is one, only names the files that can match: which files are
// looked at, and what is said of the others, does not depend on it.
func (t *search) directory(ctx context.Context, q *query, dir string) error {
	matching, known := t.candidates(ctx, dir, q.needle)
	complete, err := t.files.walk(ctx, dir, func(name string, entry fs.DirEntry) error {
		if !entry.Type().IsRegular() || q.glob != "" && !globMatches(q.glob, below(dir, name)) {
			return nil
		}
		info, err := entry.Info()
		if err != nil || info.Size() > maxSearched || linkCount(info) > 1 {
			q.skipped++
			return nil
		}
		if known && !matching[name] {
			return nil
		}
		data, _, err := t.files.readReal(name, name, maxSearched)
		if err != nil {
			q.skipped++
			return nil
		}
		if q.searched++; q.searched%beatSearched == 0 {
			Beat(ctx, fmt.Sprintf("%d files searched, %d lines match", q.searched, q.matches))
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

func newQuery(call Call) (*query, error) {
	pattern := call.text("pattern")
	if pattern == "" {
		return nil, errors.New("the pattern is empty")
	}
	if len(pattern) > 1000 {
		return nil, errors.New("the pattern is longer than 1000 bytes")
	}
	if call.flag("literal") {
		pattern = regexp.QuoteMeta(pattern)
	}
	if call.flag("ignore_case") {
		pattern = "(?i:" + pattern + ")"
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("the pattern is not an RE2 expression: %w. Set literal to search for plain text", err)
	}
	glob := call.text("glob")
	if err := checkGlob(glob); err != nil {
		return nil, fmt.Errorf("glob %w", err)
	}
	return &query{
		re: re, needle: needle(pattern), glob: glob, filesOnly: call.flag("files_only"),
		context: min(max(0, call.number("context", 0)), maxContext),
	}, nil
}

// file looks for matches in one file's content. The error is the cause of the context when that has ended.
func (q *query) file(ctx context.Context, name string, data []byte) error {
	text := string(data)
	if q.needle != "" && !strings.Contains(text, q.needle) {
		return nil
	}
	if binary(data) {
		q.skipped++
		return nil
	}
	lines := splitLines(text)
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

func (q *query) line(ctx context.Context, name string, i int, text string, hit bool) {
	sep := "-"
	if hit {
		sep = ":"
		if at := q.find(ctx, text); at != nil && at[0] > maxMatchLine/2 {
			text = "…" + text[at[0]-maxMatchLine/4:] // a long line is shown around its match
		}
	}
	text = short(strings.ToValidUTF8(text, "\uFFFD"), maxMatchLine)
	fmt.Fprintf(&q.b, "%s%s%d%s%s\n", name, sep, i+1, sep, text)
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
