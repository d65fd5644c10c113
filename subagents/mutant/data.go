package mutant

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
)

var dataFile = lazyregexp.New(`(?:^|/)(?:test[-_]?data|tests?|__tests__|specs?|(?:__)?(?:fixtures?|snapshots?)(?:__)?)/` +
	`(?:.*/)?[^/]+\.(?:json|ya?ml|csv|tsv|txt|toml|xml|html|golden|snap|ambr)$`)

// IsData reports whether a file has data that tests read, by its path.
func IsData(file string) bool { return dataFile.MatchString(file) }

// Data are the data of tests that a patch changes, before and after it, by their paths: nil is the text of a file that is not
// there. Readers are the files of tests that name them.
type Data struct {
	Before, After map[string][]byte
	Readers       []string
}

// ReadBy reports whether a file of tests, with its text, names a file of data, or the directory that it is in, or a file of
// snapshots has its name; of Go only data below its own directory.
func (d Data) ReadBy(test string, text []byte) bool {
	for file := range d.Before {
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
