package mutant

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"divisi/internal/lazyregexp"
)

var dataFile = lazyregexp.New(`(?:^|/)(?:test[-_]?data|tests?|__tests__|specs?|(?:__)?(?:fixtures?|snapshots?)(?:__)?)/` +
	`(?:.*/)?[^/]+\.(?:jsonl?|ya?ml|csv|tsv|txt|toml|xml|html|golden|snap|ambr)$`)

// IsData reports whether a file has data that tests read, by its path.
func IsData(file string) bool { return dataFile.MatchString(file) }

// Data are the data of tests that a patch changes, before and after it, by their paths: nil is the text of a file that is not
// there. Readers are the files of tests that name them. Same are other data, which touched tests read.
type Data struct {
	Before, After map[string][]byte
	Readers       []string
	Same          map[string][]byte
}

// ReadersOf are the files with tests among some sources that read data: those that name a file of it, or the directory that it
// is in, or whose snapshots it has, and those that a file without tests reads it for. Of Go only data below its own directory
// counts.
func ReadersOf(data, sources map[string][]byte) (readers []string) {
	for _, file := range slices.Sorted(maps.Keys(sources)) {
		if !readBy(data, file, sources[file]) {
			continue
		}
		if hasTests.Match(sources[file]) {
			readers = append(readers, file)
			continue
		}
		stem := strings.TrimSuffix(path.Base(file), path.Ext(file))
		for other, text := range sources {
			below := strings.HasPrefix(other, strings.TrimPrefix(path.Dir(file)+"/", "./"))
			if hasTests.Match(text) && path.Ext(other) == path.Ext(file) &&
				(stem == "conftest" && below ||
					path.Dir(other) == path.Dir(file) && path.Ext(file) == ".go" || bytes.Contains(text, []byte(stem))) {
				readers = append(readers, other)
			}
		}
	}
	slices.Sort(readers)
	readers = slices.Compact(readers)
	return readers[:min(len(readers), maxReaders)]
}

// maxReaders bounds the files with tests that run because of data.
const maxReaders = 20

// hasTests matches what begins a test of Go, Python or JavaScript.
var hasTests = lazyregexp.New(`(?m)^func (?:Test|Fuzz|Example)|^\s*(?:async )?def test|\b(?:it|test|specify)(?:\.\w+)*\(`)

// readBy reports whether a file of tests, with its text, names data.
func readBy(data map[string][]byte, test string, text []byte) bool {
	for file := range data {
		dir := path.Dir(file)
		if path.Ext(test) == ".go" && !strings.HasPrefix(file, path.Dir(test)+"/") && path.Dir(test) != "." {
			continue
		}
		stem, name := strings.TrimSuffix(path.Base(file), path.Ext(file)), path.Base(test)
		if stem == name || stem == strings.TrimSuffix(name, path.Ext(name)) ||
			bytes.Contains(text, []byte(path.Base(file))) || bytes.Contains(text, []byte(path.Base(dir)+"/")) ||
			bytes.Contains(text, []byte(`"`+path.Base(dir)+`"`)) || bytes.Contains(text, []byte(`'`+path.Base(dir)+`'`)) {
			return true
		}
	}
	return false
}

// Read has the tests of the package, or of those files that read the data, compared as a whole.
func (t *Touched) Read(d Data) {
	t.All = t.All || len(d.Before) > 0
	for _, file := range slices.Sorted(maps.Keys(d.Before)) {
		t.rest[0], t.rest[1] = t.rest[0]+string(d.Before[file])+"\n", t.rest[1]+string(d.After[file])+"\n"
	}
}

// lay writes the data before the patch into a tree.
func (d Data) lay(t *tree) error {
	for file, text := range d.Before {
		if err := t.write(file, text); err != nil {
			return err
		}
	}
	return nil
}

// alteration is another value in data of tests before the patch and after it: the texts of its file. A row that the patch removes
// is altered before it alone; its mutant has nothing New.
type alteration struct {
	Mutant

	before, after []byte
}

// maxGone and maxAltered bound the rows of a file that are altered.
const maxGone, maxAltered = 2, 6

// alterations are other values in the data that tests read, in rows that the patch removes, and in data that it leaves alone.
func (t *Touched) alterations(d Data) (list []alteration) {
	add := func(file string, lines []string, numbers []int, gone bool) {
		for _, n := range numbers {
			m := Mutant{
				File: file, Line: n + 1, Func: "the data", Kind: Row, Number: -1 - len(list), Old: lines[n],
				New: altered(lines[n], gone),
			}
			changed := slices.Clone(lines)
			changed[n] = m.New
			a := alteration{m, []byte(strings.Join(changed, "\n")), nil}
			if a.after = a.before; gone {
				a.New, a.after = "", nil
			}
			list = append(list, a)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(d.Before)) {
		lines := rowsOf(file, d.Before[file])
		add(file, lines, spread(t.gone(lines, rowsOf(file, d.After[file])), maxGone), true)
	}
	for _, file := range slices.Sorted(maps.Keys(d.Same)) {
		var numbers []int
		lines := rowsOf(file, d.Same[file])
		for n, line := range lines {
			if altered(line, false) != "" {
				numbers = append(numbers, n)
			}
		}
		add(file, lines, spread(numbers, maxAltered), false)
	}
	return list
}

// markup is data in which another word may be no data any more.
var markup = strings.Fields(".xml .html .snap .ambr")

// rowsOf are the lines of data; JSON in one line has one for each value.
func rowsOf(file string, data []byte) []string {
	var b bytes.Buffer
	text := bytes.TrimSpace(data)
	if slices.Contains(markup, path.Ext(file)) || len(text) == 0 {
		return nil
	}
	if !bytes.Contains(text, []byte("\n")) && path.Ext(file) == ".json" && json.Indent(&b, text, "", " ") == nil {
		data = b.Bytes()
	}
	return strings.Split(string(data), "\n")
}

// gone are the rows that a patch removes, and does not move to tests, by their numbers. There are none where as many come: these
// have other values.
func (t *Touched) gone(was, now []string) (numbers []int) {
	row := func(line string) string { return strings.TrimRight(strings.TrimSpace(line), ",") }
	count, moved := map[string]int{}, t.rest[1]+strings.Join(slices.Collect(maps.Values(t.now)), "\n")
	for _, line := range now {
		count[row(line)]++
	}
	come, asked := len(now), removing.MatchString(t.Brief)
	for n, line := range was {
		if count[row(line)]--; count[row(line)] >= 0 {
			come--
			continue
		}
		named := slices.ContainsFunc(scalar.FindAllStringSubmatch(line, -1), func(m []string) bool {
			value := strings.Trim(m[1], `"'`)
			return len(value) > 1 && strings.Contains(t.Brief, value)
		})
		if altered(line, false) != "" && !strings.Contains(moved, row(line)) && (!asked || !named) {
			numbers = append(numbers, n)
		}
	}
	if len(was)-len(now) <= 0 || come >= len(numbers) {
		return nil
	}
	return numbers
}

// removing are words of a brief that asks for less.
var removing = lazyregexp.New(`(?i)\b(?:remov\w*|drop\w*|delet\w*|no longer|retir\w*|without|unsupported)\b`)

// scalar is a value in a line of data, or a key before a colon.
var scalar = lazyregexp.New(`("(?:[^"\\]|\\.)*"|'[^']*'|-?\d+(?:\.\d+)?\b|[\p{L}_][\w-]*)(\s*:)?`)

// altered is a line of data with another last value, or with all values others; "" where it has none.
func altered(line string, all bool) string {
	had := line
	for _, m := range slices.Backward(scalar.FindAllStringSubmatchIndex(line, -1)) {
		if m[4] >= 0 {
			continue
		}
		value := line[m[2]:m[3]]
		other := value + "x"
		if n, err := strconv.Atoi(value); err == nil {
			other = strconv.Itoa(n + 1)
		} else if _, err := strconv.ParseFloat(value, 64); err == nil {
			other = value + "1"
		} else if quote := value[len(value)-1:]; quote == `"` || quote == "'" {
			other = value[:len(value)-1] + "x" + quote
		} else if opposite := map[string]string{"true": "false", "false": "true", "null": "0"}[value]; opposite != "" {
			other = opposite
		}
		if line = line[:m[2]] + other + line[m[3]:]; !all {
			break
		}
	}
	if line == had {
		return ""
	}
	return line
}

// altering runs tests with altered data, whose mutants have numbers below 0.
type altering struct {
	Side

	of    *Experiment
	texts map[int]map[string][]byte
}

// Test implements Side.
func (s altering) Test(ctx context.Context, number int, only string) (Report, error) {
	if number >= 0 {
		return s.Side.Test(ctx, number, only)
	}
	s.of.altered = s.texts[number]
	defer func() { s.of.altered = nil }()
	return s.Side.Test(ctx, 0, only)
}

// withData compares tests by altered data too.
func (t *trial) withData(list []alteration, of [2]*Experiment, pairs []Pair) []Pair {
	texts := [2]map[int]map[string][]byte{{}, {}}
	var first []Pair
	for _, a := range list {
		for i, text := range [][]byte{a.before, a.after} {
			if text != nil {
				texts[i][a.Number] = map[string][]byte{a.File: text}
			}
		}
		first = append(first, Pair{a.Mutant, a.Mutant})
	}
	t.before, t.after = altering{t.before, of[0], texts[0]}, altering{t.after, of[1], texts[1]}
	return slices.Concat(first, pairs)
}
