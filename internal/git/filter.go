package git

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Filters returns which filters the attributes of a commit give to paths, which need not be there. It reads the lists of
// attributes above them alone, whatever the size of the commit.
func (r *Repo) Filters(ctx context.Context, commit string, paths []string) (filters map[string]string, err error) {
	if c, err := r.Conversion(ctx, commit); err != nil || !c.Filters || len(paths) == 0 {
		return nil, err
	}
	var lists []string
	met := map[string]bool{}
	for _, name := range paths {
		for name != "." {
			if name = path.Dir(name); met[name] {
				break
			}
			met[name] = true
			lists = append(lists, path.Join(name, Attributes))
		}
	}
	slices.Sort(lists)
	entries, err := r.Lookup(ctx, commit, lists)
	if err == nil {
		filters, err = r.filtersBy(ctx, entries, paths)
	}
	if err != nil {
		return nil, fmt.Errorf("read the attributes of %s: %w", commit, err)
	}
	return filters, nil
}

// filtersBy asks git, with an index that has nothing but lists of attributes.
func (r *Repo) filtersBy(ctx context.Context, lists []Entry, paths []string) (filters map[string]string, err error) {
	tmp, remove, err := scratch()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	at := Dir{GitDir: filepath.Join(tmp, "view")}
	// The attributes that a repository of Divisi's own has for all files would hide the commit's.
	s := skeleton{format: len(r.base), borrow: []string{r.Objects()}, shallow: []string{r.base}, attributes: asStored}
	if err := s.write(at.GitDir); err != nil {
		return nil, err
	}
	var entries strings.Builder
	for _, e := range lists {
		if e.Mode == ModeFile || e.Mode == ModeExec {
			fmt.Fprintf(&entries, "%s %s\t%s\x00", e.Mode, e.OID, e.Path)
		}
	}
	in := strings.NewReader(entries.String())
	if _, err := r.g.Run(ctx, at, in, "update-index", "-z", "--index-info"); err != nil {
		return nil, err
	}
	in = strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	out, err := r.g.Run(ctx, at, in, "check-attr", "--cached", "-z", "--stdin", "filter")
	if err != nil {
		return nil, err
	}
	filters = map[string]string{}
	fields := strings.Split(string(out), "\x00") // path, attribute and value of each file
	for ; len(fields) > 3; fields = fields[3:] {
		if value := fields[2]; value != "unspecified" && value != "unset" && value != "set" {
			filters[fields[0]] = value
		}
	}
	return filters, nil
}
