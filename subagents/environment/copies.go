package environment

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The files in which package managers write what a package is, or where it came from, and the bound of one, in bytes.
const (
	manifestOfNode = "package.json"
	originOfPython = "direct_url.json"
	maxDescription = 64 << 10
)

// inNode is between a project of Node and its packages.
const inNode = "/node_modules/"

// topOfPackage reports whether a path below node_modules is the manifest of a package, not one of a directory in it.
func topOfPackage(name string) bool {
	plain, _ := path.Match("[^@]*/"+manifestOfNode, name)
	scoped, _ := path.Match("@*/*/"+manifestOfNode, name)
	return plain || scoped
}

// look notes what a file of the environment reports copies of the tree's own packages.
func (m *Making) look(name, file string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() || info.Size() > maxDescription {
		return nil
	}
	switch path.Base(name) {
	case originOfPython:
		m.lookPython(file)
	case manifestOfNode:
		if i := strings.LastIndex("/"+name, inNode); i >= 0 && topOfPackage(name[i+len(inNode)-1:]) {
			return m.lookNode(file)
		}
	}
	return nil
}

// copied notes a package of the tree that the environment has a copy of: tests would import the copy, which no patch changes.
func (m *Making) copied(dir, instead string) {
	if slices.Contains(m.manifest.Copies, dir) {
		return
	}
	m.manifest.Copies = append(m.manifest.Copies, dir)
	m.Note(fmt.Sprintf("setup has made a copy of the tree's own package in %s, which no patch changes: %s, "+
		"or regenerate copies it again", dir, instead))
}

// lookPython reads where an installed package came from.
func (m *Making) lookPython(file string) {
	var from struct {
		URL string `json:"url"`
		Dir *struct {
			Editable bool `json:"editable"`
		} `json:"dir_info"`
	}
	data, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(data, &from) != nil || from.Dir == nil || from.Dir.Editable {
		return // it is an archive's or another tool's
	}
	source := strings.TrimPrefix(from.URL, "file://")
	for _, top := range m.tops {
		if within(source, top) {
			m.copied(path.Clean("./"+strings.TrimPrefix(source, top)), "have it installed with -e")
			return
		}
	}
}

// lookNode compares the manifest of an installed package with those of the tree. A workspace links its packages,
// and links are not followed; yarn and pnpm copy those that are named with file:.
func (m *Making) lookNode(file string) error {
	if m.own == nil {
		if err := m.findOwn(); err != nil {
			return err
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	for _, dir := range m.own[string(data)] {
		m.copied(dir, "have it linked (workspace: or link: in place of file:)")
	}
	return nil
}

// findOwn reads the manifests of the packages of the tree, beside what git ignores.
func (m *Making) findOwn() error {
	m.own = map[string][]string{}
	for _, top := range m.tops {
		err := filepath.WalkDir(top, func(file string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, err := filepath.Rel(top, file)
			if err != nil {
				return err
			}
			name = filepath.ToSlash(name)
			if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || slices.Contains(m.manifest.Places, name)) {
				return fs.SkipDir
			}
			info, err := d.Info()
			if err != nil || d.Name() != manifestOfNode || !info.Mode().IsRegular() || info.Size() > maxDescription {
				return err
			}
			data, err := os.ReadFile(file)
			var manifest struct {
				Name string `json:"name"`
			}
			if json.Unmarshal(data, &manifest) == nil && manifest.Name != "" {
				m.own[string(data)] = append(m.own[string(data)], path.Dir(name))
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // commands name the tree by a path that only they see
			return fmt.Errorf("look for the packages of %s: %w", top, err)
		}
	}
	return nil
}
