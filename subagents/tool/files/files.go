// Package files holds the tools on an agent's work tree: list_files, glob, read_file, outline, search, edit_file,
// write_file, git_log and git_diff. Their input is the root of the tree, the write set and the tree as git sees it; their
// output is text with places, or a changed file. Every path goes through the root, links resolved first. They never leave
// the tree, never show or change .git, and write nothing outside the write set.
package files

import (
	"cmp"
	"os"
	"slices"
	"sync"

	"divisi/internal/spec"
	"divisi/subagents/tool"
	"divisi/subagents/tool/commands"
)

// Config is the input of the file tools.
type Config struct {
	// Root is the work tree; the caller closes it after the tools' last use.
	Root *os.Root
	// Layers are shown to commands below the tree, beside its files: it is read, and shown where a path leads into it.
	Layers []Layer
	// Dir is the work tree's absolute path, as commands see it. Paths below it are taken for paths in the tree.
	Dir string
	// Scope bounds writes; nil means everything.
	Scope *Scope
	// History is needed by git_log and git_diff, and tells glob what is ignored.
	History History
	// Runner runs ctags, confined; nil means that only Go is outlined.
	Runner commands.Runner
	// Ripgrep is the path of rg; empty means the one on PATH, "-" that none is used. The results are the same.
	Ripgrep string
}

// Layer is a directory that is seen at a path of the tree. The caller closes its root after the tools' last use.
type Layer struct {
	Path string
	Root *os.Root
}

// Tools returns the tools on a work tree.
func Tools(c Config) []tool.Tool {
	c.Scope = cmp.Or(c.Scope, NewScope(spec.WriteSet{}))
	t := &tree{c, ripgrep(c.Ripgrep)}
	return []tool.Tool{
		tool.New(spec.ToolListFiles, "List files, sorted. Directories that are not opened end with /.", tool.Reads, t.list),
		tool.New(spec.ToolGlob, "Find files by name, without those that git ignores.", tool.Reads, t.glob),
		tool.New(spec.ToolReadFile, "Show a text file with line numbers, up to 2,000 lines.", tool.Reads, t.readFile),
		tool.New(spec.ToolOutline, "Show the declarations in up to 30 files, with lines.", tool.Reads, t.outline),
		tool.New(spec.ToolSearch, "Search files for lines; shows up to 100 matches as path:line:text.", tool.Reads, t.search),
		tool.New(spec.ToolEditFile,
			"Replace texts in files of the write set, all or none. Each old_text must be unique in its file, unless "+
				"replace_all is set.", tool.Writes, t.edit),
		tool.New(spec.ToolWriteFile, "Write a whole file of the write set; edit_file changes one.",
			tool.Writes, t.writeFile),
		tool.New(spec.ToolGitLog, "List what other tasks of this run have landed; newest first.", tool.Reads, t.gitLog),
		tool.New(spec.ToolGitDiff, "Show what has changed in the work tree since the task began.", tool.Reads, t.gitDiff),
	}
}

// Read returns a regular file of the tree, of at most so many bytes.
func (c Config) Read(name string, most int64) ([]byte, error) {
	return (&tree{Config: c}).read(name, most)
}

// Scope is an attempt's write set, which can grow while it works. It is safe for concurrent use.
type Scope struct {
	mu  sync.RWMutex
	set spec.WriteSet
}

// NewScope returns a scope that begins with the write set.
func NewScope(set spec.WriteSet) *Scope { return &Scope{set: set} }

// Refuse returns why a slash-separated path below the root may not be written now, or "".
func (s *Scope) Refuse(name string) string {
	set := s.Set()
	return set.RefuseNew(name)
}

// Set is the write set as it is now.
func (s *Scope) Set() spec.WriteSet {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.set
}

// Grow adds paths and globs.
func (s *Scope) Grow(paths, unlocked []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set.Files, s.set.Unlocked = slices.Concat(s.set.Files, paths), slices.Concat(s.set.Unlocked, unlocked)
}
