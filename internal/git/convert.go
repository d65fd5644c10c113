package git

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"divisi/internal/lazyregexp"
)

// Conversion lists the conversions of git between the files of a tree and its blobs. The zero value is nothing: files are stored
// byte for byte.
type Conversion struct {
	// Lines reports whether a carriage return or an ident keyword can be converted, All whether any content can: by an encoding.
	Lines, All bool
	// Foreign reports whether one of the encodings is not of those that trees are converted to.
	Foreign bool
	// Filters reports whether a filter may be chosen for a file.
	Filters bool
	// Key is the same for trees with the same lists of attributes; empty where there is none.
	Key string
}

// Any reports whether a file can differ from what is stored of it.
func (c Conversion) Any() bool { return c.Lines || c.All }

func (c Conversion) with(other Conversion) Conversion {
	return Conversion{
		c.Lines || other.Lines, c.All || other.All, c.Foreign || other.Foreign, c.Filters || other.Filters, c.Key + other.Key,
	}
}

// Attributes is the name of the lists that report what git does to files.
const Attributes = ".gitattributes"

// Ends are the settings of a user by which git converts the ends of lines; empty for git's own choice.
type Ends struct {
	// AutoCRLF is true or input, EOL lf, crlf or native.
	AutoCRLF string `json:"autocrlf,omitempty"`
	EOL      string `json:"eol,omitempty"`
}

// Conversion are the settings as they count for a tree without attributes.
func (e Ends) Conversion() Conversion { return Conversion{Lines: e.AutoCRLF != ""} }

// check refuses what are no such settings.
func (e Ends) check() error {
	known := slices.Contains([]string{"", "true", "input"}, e.AutoCRLF)
	if !known || !slices.Contains([]string{"", "lf", "crlf", "native"}, e.EOL) {
		return fmt.Errorf("the settings %q and %q of line ends: %w", e.AutoCRLF, e.EOL, ErrBadName)
	}
	return nil
}

// endsOf reads them: the repository's own settings come before those of the user.
func endsOf(all ...settings) (e Ends) {
	for _, kv := range inertFlags(all...) {
		key, value, _ := strings.Cut(strings.ToLower(kv), "=")
		switch {
		case key == "core.eol" && (Ends{EOL: value}).check() == nil:
			e.EOL = value
		case key == "core.autocrlf" && slices.Contains([]string{"yes", "on", "1"}, value):
			e.AutoCRLF = "true"
		case key == "core.autocrlf" && (Ends{AutoCRLF: value}).check() == nil:
			e.AutoCRLF = value
		}
	}
	return e
}

// config are the settings in the words of git.
func (e Ends) config() (out string) {
	if e.AutoCRLF != "" {
		out += "[core]\n\tautocrlf = " + e.AutoCRLF + "\n"
	}
	if e.EOL != "" {
		out += "[core]\n\teol = " + e.EOL + "\n"
	}
	return out
}

// encodings are those that trees are converted to. Others are seldom seen, and the code that converts them is not without faults:
// a repository must not choose it. Their files are as they are stored.
var encodings = lazyregexp.New(`(?i)^(?:UTF-?(?:8|16|32)(?:[LB]E)?(?:-BOM)?|(?:US-)?ASCII|ISO-?8859-\d+|(?:windows-|CP)\d+|` +
	`S(?:HIFT)?[-_]?JIS|EUC-(?:JP|KR)|GBK|GB2312|GB18030|BIG-?5|KOI8-[RU]|latin-?1)$`)

// encoding begins the name of one.
const encoding = "working-tree-encoding"

// AsksFor returns what a list of attributes asks for. It may find more than git does, never less.
func AsksFor(list []byte) (c Conversion) {
	between := func(r rune) bool { return !unicode.IsLetter(r) && !strings.ContainsRune("-!", r) }
	for word := range strings.FieldsFuncSeq(string(list), between) {
		switch word {
		case "text", "eol", "crlf", "ident":
			c.Lines = true
		case encoding:
			c.All = true
		case "filter":
			c.Filters = true
		}
	}
	for _, after := range strings.Split(string(list), encoding)[1:] {
		name, named := strings.CutPrefix(after, "=")
		if end := strings.IndexFunc(name, func(r rune) bool { return r <= ' ' }); end >= 0 {
			name = name[:end]
		}
		c.Foreign = c.Foreign || named && !encodings.MatchString(name)
	}
	return c
}

// maxAttributes bounds a list of attributes, in bytes: git reads no more either.
const maxAttributes = 100 << 20

// Conversion returns what the attributes of a commit ask for. A mirror remembers the trees that it has read: another commit costs
// what differs.
func (r *Repo) Conversion(ctx context.Context, commit string) (Conversion, error) {
	tree, err := r.Tree(ctx, commit)
	if err != nil {
		return Conversion{}, err
	}
	w := attributeWalk{r: r, found: map[string]Conversion{}, parts: map[string][]treeEntry{}}
	for level := []string{tree}; len(level) > 0 && err == nil; {
		level, err = w.read(ctx, level)
	}
	if err == nil {
		err = w.lists(ctx)
	}
	if err != nil {
		return Conversion{}, fmt.Errorf("read the attributes of %s: %w", commit, err)
	}
	return w.sum(tree), nil
}

// attributeWalk reads trees and the lists in them. found are those whose sum is known, by id; parts the trees and lists that are
// in a tree; blobs lists that are not read yet.
type attributeWalk struct {
	r     *Repo
	found map[string]Conversion
	parts map[string][]treeEntry
	blobs []string
}

// known looks a tree or list up. What was met before is not read again.
func (w *attributeWalk) known(id string) bool {
	if _, found := w.found[id]; found {
		return true
	}
	if _, met := w.parts[id]; met {
		return true
	}
	c, kept := w.r.memo.conversion(id)
	if kept {
		w.found[id] = c
	}
	return kept
}

// read reads trees and returns those within them.
func (w *attributeWalk) read(ctx context.Context, trees []string) (below []string, err error) {
	trees = slices.DeleteFunc(trees, w.known)
	slices.Sort(trees)
	trees = slices.Compact(trees)
	return below, w.r.objects(ctx, "contents", trees, maxTree, func(i int, o object) error {
		entries, err := parseTreeObject(o.content, len(trees[i])/2)
		if err != nil || o.kind != "tree" || o.size > maxTree {
			return fmt.Errorf("tree %s: %w", trees[i], ErrNotFound)
		}
		parts := []treeEntry{}
		for _, e := range entries {
			switch {
			case e.mode == modeTree:
				parts, below = append(parts, e), append(below, e.oid)
			case e.name == Attributes:
				parts, w.blobs = append(parts, e), append(w.blobs, e.oid)
			}
		}
		w.parts[trees[i]] = parts
		return nil
	})
}

func (w *attributeWalk) lists(ctx context.Context) error {
	blobs := slices.DeleteFunc(w.blobs, w.known)
	return w.r.objects(ctx, "contents", blobs, maxAttributes, func(i int, o object) error {
		c := AsksFor(o.content)
		c.Key = blobs[i]
		w.found[blobs[i]] = c
		return nil
	})
}

// sum is that of a tree. Its key stands for the places of lists too.
func (w *attributeWalk) sum(id string) Conversion {
	if c, found := w.found[id]; found {
		return c
	}
	var c Conversion
	for _, part := range w.parts[id] {
		one := w.sum(part.oid)
		if one.Key != "" {
			one.Key = part.name + "/" + one.Key + "/"
		}
		c = c.with(one)
	}
	if c.Key != "" {
		c.Key = hex.EncodeToString(digest(len(id), []byte(c.Key)))
	}
	w.found[id] = c
	w.r.memo.keepConversion(id, c)
	return c
}

// Encode reports whether git converts encodings between the repository's work tree and what is stored. Only where a list of
// attributes is known to ask for one of encodings does it: an attempt can hide others.
func (r *Repo) Encode(on bool) error {
	if err := os.WriteFile(filepath.Join(r.dir, "info", "attributes"), []byte(treeAttributes(on)), 0o644); err != nil {
		return fmt.Errorf("choose the conversions of git: %w", err)
	}
	return nil
}

// treeAttributes come before those of a tree, which choose no filter, no way to merge or to compare.
func treeAttributes(encode bool) string {
	if encode {
		return treeBytes
	}
	return strings.Replace(treeBytes, "-filter", "-filter !"+encoding, 1)
}

// Encodes reports whether trees are converted to its encodings.
func (c Conversion) Encodes() bool { return c.All && !c.Foreign }
