package git

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"divisi/internal/text"
)

// The bounds of what a machine can lay out, in bytes, and of how many directories are within each other.
const (
	MaxName  = 255
	MaxPath  = 4000
	MaxDepth = 256
	MaxLink  = 4095
)

// nameFault reports what is wrong with a name: a bad one cannot be laid out, or deceives; another one hurts other systems alone.
func nameFault(name string) (fault string, bad bool) {
	bad = true
	hidden := strings.IndexFunc(name, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Bidi_Control) })
	switch {
	case len(name) > MaxName:
		return fmt.Sprintf("has a name of %d bytes; %d are allowed", len(name), MaxName), bad
	case !utf8.ValidString(name):
		return "has a name that is not UTF-8", bad
	case hidden >= 0:
		r, _ := utf8.DecodeRuneInString(name[hidden:])
		return fmt.Sprintf("has the control character %U in its name", r), bad
	case strings.Contains(name, `\`):
		return "has a backslash in its name", bad
	}
	base, _, _ := strings.Cut(name, ".")
	switch i := strings.IndexAny(name, `:*?"<>|`); {
	case i >= 0:
		return fmt.Sprintf("has %q in its name, which Windows does not allow", name[i]), false
	case strings.TrimRight(name, ". ") != name:
		return "ends in a dot or a blank, which Windows cuts off", false
	case slices.Contains(devices, strings.ToUpper(strings.TrimRight(base, " "))):
		return "has the name of a device of Windows", false
	case strings.ContainsFunc(name, text.Hidden):
		return "has a character in its name that is not seen", false
	}
	return "", false
}

var devices = strings.Fields("CON PRN AUX NUL CONIN$ CONOUT$ COM0 COM1 COM2 COM3 COM4 COM5 COM6 COM7 COM8 COM9 COM¹ COM² COM³ " +
	"LPT0 LPT1 LPT2 LPT3 LPT4 LPT5 LPT6 LPT7 LPT8 LPT9 LPT¹ LPT² LPT³")

// fold is the same for names that one file system or another takes for the same.
func fold(name string) string { return norm.NFC.String(caseless(norm.NFC.String(name))) }

func caseless(name string) string { return strings.ToLower(strings.ToUpper(name)) }

// Names lists problems of new names: bad ones, which no repository may get, and odd ones, which hurt other systems.
type Names struct {
	Bad, Odd []PatchFault
	listed   int
}

// maxListed bounds the paths of what differs, in bytes with what is kept of each: few trees can be endless directories.
const maxListed, keptOfEach = 32 << 20, 100

// Names inspects the names that one commit or tree has and another, from which it comes, has not: what was there before may stay.
// It reads the directories that differ, and fails with ErrTooLarge where they are too many.
func (r *Repo) Names(ctx context.Context, was, is string) (n Names, err error) {
	for _, id := range []*string{&was, &is} {
		if c, kept := r.memo.commit(*id); kept {
			*id = c.Tree // others know it by that
		}
	}
	level := []grown{{was: was, is: is}}
	for depth := 1; len(level) > 0 && err == nil; depth++ {
		var trees map[string][]treeEntry
		if trees, err = r.treesOf(ctx, level); err != nil {
			return Names{}, fmt.Errorf("inspect the names that %s adds to %s: %w", is, was, err)
		}
		var below []grown
		for _, g := range level {
			below = append(below, n.add(g, trees[g.was], trees[g.is], depth)...)
			if n.listed > maxListed {
				return Names{}, fmt.Errorf("inspect the names that %s adds to %s: %w", is, was, ErrTooLarge)
			}
		}
		level = below
	}
	return n, nil
}

// grown is a directory that differs: its two trees, the first one "" where there was none.
type grown struct{ dir, was, is string }

func (r *Repo) treesOf(ctx context.Context, level []grown) (map[string][]treeEntry, error) {
	trees := map[string][]treeEntry{}
	var asked, names []string
	for _, g := range level {
		for _, id := range []string{g.was, g.is} {
			entries, kept := r.memo.tree(id)
			if _, had := trees[id]; had || id == "" {
				continue
			}
			if trees[id] = entries; !kept {
				asked, names = append(asked, id), append(names, id+"^{tree}")
			}
		}
	}
	return trees, r.objects(ctx, "contents", names, maxTree, func(i int, o object) error {
		if o.kind != "tree" || o.size > maxTree {
			return fmt.Errorf("tree %s: %w", asked[i], ErrNotFound)
		}
		entries, err := parseTreeObject(o.content, len(asked[i])/2)
		trees[asked[i]] = entries
		r.memo.keepTree(asked[i], entries)
		return err
	})
}

// add inspects one directory and returns those below it that differ too.
func (n *Names) add(g grown, was, is []treeEntry, depth int) (below []grown) {
	had := make(map[string]treeEntry, len(was))
	for _, e := range was {
		had[e.name] = e
	}
	added := map[string]bool{}
	for _, e := range is {
		old := had[e.name]
		if old == e {
			continue
		}
		at := grown{dir: path.Join(g.dir, e.name), is: e.oid}
		n.listed += len(at.dir) + keptOfEach
		if old.mode == modeTree {
			at.was = old.oid
		}
		fault, bad := "", true
		if old.oid == "" {
			added[e.name] = true
			fault, bad = nameFault(e.name)
		}
		switch {
		case fault != "" && !bad:
			n.Odd = append(n.Odd, PatchFault{Kind: FaultName, Path: at.dir, Text: fault})
			fault = ""
		case fault == "" && e.mode == modeTree && at.was == "" && depth > MaxDepth:
			fault = fmt.Sprintf("is a directory within %d others; %d are allowed", depth-1, MaxDepth-1)
		case fault == "" && added[e.name] && len(at.dir) > MaxPath:
			fault = fmt.Sprintf("has a path of %d bytes; %d are allowed", len(at.dir), MaxPath)
		}
		if fault != "" {
			n.Bad = append(n.Bad, PatchFault{Kind: FaultName, Path: at.dir, Text: fault})
		} else if e.mode == modeTree {
			below = append(below, at)
		}
	}
	n.collide(g.dir, added, is)
	return below
}

// collide finds new names that are the same as others of their directory where letters have no case, or accents one form. With
// the first a checkout on many machines has one of the two files alone.
func (n *Names) collide(dir string, added map[string]bool, all []treeEntry) {
	if len(added) == 0 {
		return
	}
	same := make(map[string]string, len(all))
	for _, e := range all {
		if !added[e.name] {
			same[fold(e.name)] = e.name
		}
	}
	for _, e := range all {
		if !added[e.name] {
			continue
		}
		other, found := same[fold(e.name)]
		same[fold(e.name)] = e.name
		fault := PatchFault{Kind: FaultName, Path: path.Join(dir, e.name)}
		switch {
		case !found:
		case caseless(other) == caseless(e.name):
			fault.Text = fmt.Sprintf("is the same name as %q beside it where letters have no case", other)
			n.Bad = append(n.Bad, fault)
		default:
			fault.Text = fmt.Sprintf("is the same name as %q beside it where accents have one form", other)
			n.Odd = append(n.Odd, fault)
		}
	}
}
