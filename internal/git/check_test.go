package git

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

// patchOf is an honest description of a commit.
func (b *bundle) patchOf(base, id string) spec.Patch {
	b.t.Helper()
	tree, err := b.m.Tree(b.t.Context(), id)
	require.NoError(b.t, err)
	changes, err := b.m.Changed(b.t.Context(), base, id)
	require.NoError(b.t, err)
	p := spec.Patch{Commit: id, Base: base, Tree: tree}
	for _, c := range changes {
		p.Files = append(p.Files, c.Path)
	}
	p.Added, p.Deleted = CountLines(changes)
	return p
}

func all(string, bool) bool { return true }

func TestCheckPatch(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.change(b.base, map[string]string{"a.txt": "new\n", "dir/b.txt": "", "dir/n.txt": "n\n"})
	p := b.patchOf(b.base, id)
	require.NoError(t, CheckPatch(t.Context(), b.m, p, all))
	err := CheckPatch(t.Context(), b.m, p, func(path string, _ bool) bool { return strings.HasPrefix(path, "dir/") })
	var refused *PatchError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, []PatchFault{{Kind: FaultPath, Path: "a.txt", Text: "is outside the write set"}}, refused.Faults)
	require.ErrorContains(t, err, "a.txt is outside the write set")
	require.True(t, refused.Has(FaultPath))
	require.False(t, refused.Has(FaultSize))
}

func TestCheckPatchListsAllFaults(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	linked := b.change(b.base, map[string]string{ModeSymlink + ":old": "a.txt", ModeGitlink + ":module": strings.Repeat("1", 40)})
	other := strings.Repeat("2", 40)
	wrongTree := func(p *spec.Patch) { p.Tree = p.Commit }
	noFiles := func(p *spec.Patch) { p.Files = nil }
	for name, c := range map[string]struct {
		base  string
		files map[string]string
		lie   func(*spec.Patch)
		want  []FaultKind
	}{
		"tree":            {b.base, map[string]string{"a.txt": "1"}, wrongTree, []FaultKind{FaultCommit}},
		"files":           {b.base, map[string]string{"a.txt": "2"}, noFiles, []FaultKind{FaultCommit}},
		"base":            {b.base, map[string]string{"a.txt": "3"}, func(p *spec.Patch) { p.Base = linked }, nil},
		"symlink":         {b.base, map[string]string{ModeSymlink + ":l": "/etc/passwd"}, nil, []FaultKind{FaultMode}},
		"file to symlink": {b.base, map[string]string{ModeSymlink + ":a.txt": "dir"}, nil, []FaultKind{FaultMode}},
		"gitlink":         {b.base, map[string]string{ModeGitlink + ":s": other}, nil, []FaultKind{FaultMode}},
		"counts":          {b.base, map[string]string{"a.txt": "5"}, func(p *spec.Patch) { p.Added++ }, []FaultKind{FaultCommit}},
		"gone gitlink":    {linked, map[string]string{ModeNone + ":module": ""}, nil, []FaultKind{FaultMode}},
		"moved gitlink":   {linked, map[string]string{ModeGitlink + ":module": other}, nil, []FaultKind{FaultMode}},
		"old symlink":     {linked, map[string]string{ModeSymlink + ":old": "dir"}, nil, []FaultKind{}},
		"gitmodules":      {b.base, map[string]string{"dir/.GitModules": "x"}, nil, []FaultKind{FaultGitFile}},
		"size":            {b.base, map[string]string{"big": strings.Repeat("x", MaxBlob+1)}, nil, []FaultKind{FaultSize}},
		"several": {
			b.base,
			map[string]string{".gitmodules": "x", ModeSymlink + ":l": "/", "big": strings.Repeat("y", MaxBlob+1)},
			wrongTree,
			[]FaultKind{FaultCommit, FaultGitFile, FaultMode, FaultSize},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := b.patchOf(c.base, b.change(c.base, c.files))
			if c.lie != nil {
				c.lie(&p)
			}
			err := CheckPatch(t.Context(), b.m, p, all)
			if c.want != nil && len(c.want) == 0 {
				require.NoError(t, err)
				return
			}
			var refused *PatchError
			require.ErrorAs(t, err, &refused)
			kinds := map[FaultKind]bool{}
			for _, f := range refused.Faults {
				kinds[f.Kind] = true
			}
			for _, kind := range c.want {
				require.True(t, kinds[kind], "%v", err)
			}
			if c.want != nil {
				require.Len(t, kinds, len(c.want), "%v", err)
			}
		})
	}
}

func TestCheckPatchOfSeveralCommits(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	two := b.change(b.change(b.base, map[string]string{"a.txt": "1"}), map[string]string{"a.txt": "2"})
	var refused *PatchError
	require.ErrorAs(t, CheckPatch(t.Context(), b.m, b.patchOf(b.base, two), all), &refused)
	require.True(t, refused.Has(FaultCommit))
	missing := spec.Patch{Commit: strings.Repeat("1", 40), Base: b.base, Tree: b.base}
	err := CheckPatch(t.Context(), b.m, missing, all)
	require.Error(t, err)
	require.ErrorIs(t, CheckPatch(t.Context(), b.m, spec.Patch{Commit: "-x", Base: b.base, Tree: b.base}, all), ErrBadName)
}
