package git

import (
	"bufio"
	"slices"
	"strings"
	"testing"
)

var (
	idA = strings.Repeat("a", 40)
	idB = strings.Repeat("b", 40)
)

func FuzzParseMerge(f *testing.F) {
	f.Add(idA + "\x00")
	f.Add(idA + "\x00a.txt\x00\x001\x00a.txt\x00Auto-merging\x00Auto-merging a.txt\n\x00" +
		"1\x00a.txt\x00CONFLICT (contents)\x00CONFLICT (content): Merge conflict in a.txt\n\x00")
	f.Add(idA + "\x00\x00-1\x00x\x00y\x00")
	f.Add(idA + "\x00\x009999999999\x00x\x00y\x00")
	f.Fuzz(func(t *testing.T, out string) {
		m, err := parseMerge(out)
		if err != nil {
			return
		}
		if !ValidID(m.Tree) || slices.Contains(m.Paths, "") {
			t.Fatalf("accepted %q as %+v", out, m)
		}
		if strings.Count(out, "\x00") < 1+len(m.Paths)+3*len(m.Conflicts) {
			t.Fatalf("%q made up %+v", out, m)
		}
	})
}

func FuzzParseChanges(f *testing.F) {
	raw := ":100644 100644 " + idA + " " + idB + " M\x00a.txt\x00"
	f.Add(raw + "1\t2\ta.txt\x00")
	f.Add(raw + "-\t-\ta.txt\x00")
	f.Add(raw + "1\t2\tother\x00")
	f.Add(":\x00")
	f.Add(raw)
	f.Fuzz(func(t *testing.T, out string) {
		fields, err := readChanges(bufio.NewReader(strings.NewReader("trees\n" + out + diffEnd)))
		if err != nil {
			return
		}
		changes, err := parseChanges(fields)
		if err != nil {
			return
		}
		for _, c := range changes {
			if c.Path == "" || !validMode(c.OldMode) || !validMode(c.NewMode) || !ValidID(c.NewOID) ||
				c.Added < 0 || c.Deleted < 0 {
				t.Fatalf("accepted %q as %+v", out, c)
			}
		}
	})
}

func FuzzParseTree(f *testing.F) {
	f.Add([]byte("100644 blob " + idA + "     12\ta b\nc\x00160000 commit " + idB + "       -\tsub\x00"))
	f.Add([]byte("100644 blob " + idA + "\tx\x00"))
	f.Add([]byte("100644 blob " + idA + " -5\tx\x00"))
	f.Add([]byte("\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		entries, err := parseTree(out)
		if err != nil {
			return
		}
		for _, e := range entries {
			if e.Path == "" || !validMode(e.Mode) || !ValidID(e.OID) || e.Size < 0 {
				t.Fatalf("accepted %q as %+v", out, e)
			}
		}
	})
}

func FuzzParseCommit(f *testing.F) {
	f.Add("tree " + idA + "\nparent " + idB + "\nauthor A <a> 1 +0000\n\nmessage\n")
	f.Add("tree x\n\n")
	f.Fuzz(func(t *testing.T, data string) {
		c, err := parseCommit(data)
		if err == nil && (!ValidID(c.Tree) || checkIDs(c.Parents...) != nil) {
			t.Fatalf("accepted %q as %+v", data, c)
		}
	})
}

func FuzzValidRef(f *testing.F) {
	f.Add("refs/heads/divisi/r1")
	f.Add("refs/heads/a..b")
	f.Fuzz(func(t *testing.T, ref string) {
		if ValidRef(ref) == nil && (strings.Contains(ref, "..") || strings.ContainsAny(ref, " ~^:?*[\\\x00\n") ||
			!strings.HasPrefix(ref, "refs/")) {
			t.Fatalf("accepted %q", ref)
		}
	})
}
